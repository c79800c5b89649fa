// Who acted on a deployment after it was started.
export const actors = {
  rolledBackBy: "Rolled back by",
  retriedBy: "Retried by",
  overriddenBy: "Overridden by",
  canceledBy: "Canceled by",
  override: (who: string, stage: string) => `${who}, in ${stage}`,
  retried: (who: string) => `Retried by ${who}`,
  canceled: (who: string) => `Canceled by ${who}`,
  /** In the history of a lasting environment, under the name of who started the work there. */
  retriedDeployment: (author: string) => `retried the deployment of ${author}`,
  rolledBackDeployment: (author: string) => `rolled back to the deployment of ${author}`,
  overrode: (who: string, gates: string, reason: string) => `${who} overrode the ${gates}: “${reason}”`,
  withToken: (who: string, token: string) => `${who} (${token})`,
};
