// A deployment that has succeeded without reaching lasting environments, because its conditions saw no branch.
export const unreached = {
  word: (environments: string) => `Skipped ${environments}`,
  sentence: (why: "no_branch" | "no_repository", environments: string) =>
    why === "no_branch"
      ? `${environments} was not reached: no branch was named, so the condition of its stage was false. Deploy the commit again with its branch.`
      : `${environments} was not reached: the pipeline has no repository that shows which branch the commit is on, so the condition of its stage was false. Set the pipeline's repository and deploy the commit again.`,
};
