// The commit to deploy, and the branch that it is on, with the branches that were deployed last as suggestions.
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { pipelineDeploymentsQuery } from "@/api/deployment";
import type { Problem } from "@/api/problem";
import { branch as texts } from "@/texts/en/branch";
import { environment } from "@/texts/en/environment";
import { CodeField } from "@/ui/Field";
import { branchesOf, type Commit, mistakeOf } from "./commit";

type Props = {
  org: string;
  pipeline: string;
  commit: Commit;
  onChange: (commit: Commit) => void;
  /** Mistakes are shown. */
  isTouched: boolean;
  problem: Problem | undefined;
  /** Nothing is deployed without a commit. */
  isOptional?: boolean;
};

export function CommitFields({ org, pipeline, commit, onChange, isTouched, problem, isOptional = false }: Props) {
  const id = useId();
  const seen = useQuery(pipelineDeploymentsQuery(org, pipeline));
  const mistake = isTouched ? mistakeOf(commit, isOptional) : undefined;
  return (
    <>
      <CodeField
        label={environment.commit}
        hint={isOptional ? environment.commitHint : environment.commitRequired}
        error={mistake ?? problem?.field("/commitId")}
        value={commit.commitId}
        onChange={(event) => onChange({ ...commit, commitId: event.target.value.trim() })}
      />
      <CodeField
        label={texts.label}
        hint={texts.hint}
        error={problem?.field("/branch")}
        list={id}
        value={commit.branch}
        onChange={(event) => onChange({ ...commit, branch: event.target.value.trim() })}
      />
      <datalist id={id}>
        {branchesOf(seen.data?.data ?? []).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}
