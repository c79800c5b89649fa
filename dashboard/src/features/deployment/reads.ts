// What a deployment has read of secrets, one entry per secret and version: what to rotate. Pure.
import type { DeploymentSecretRead, Stage } from "@/api/types";

export type Place = { key: string; stage: string; stepRunId: string | undefined; name: string };

export type ReadSecret = {
  secretId: string;
  name: string;
  version: number;
  status: DeploymentSecretRead["versionStatus"];
  /** The steps that got it, or the stages whose checkout or images needed it. */
  places: Place[];
};

/** In the order of the first read; active versions first, because they are still to be rotated. */
export function secretsOf(reads: readonly DeploymentSecretRead[], stages: readonly Stage[]): ReadSecret[] {
  const found = new Map<string, ReadSecret>();
  for (const read of reads) {
    const { secretId, secretName: name, version, versionStatus: status } = read;
    const key = `${secretId} ${version}`;
    const secret = found.get(key) ?? { secretId, name, version, status, places: [] };
    secret.places.push(placeOf(read, stages));
    found.set(key, secret);
  }
  return [...found.values()].toSorted((a, b) => Number(b.status === "active") - Number(a.status === "active"));
}

/** Steps of earlier attempts are not in the deployment, so their places have the stage's name alone. */
function placeOf({ stage, stepRunId, jobId }: DeploymentSecretRead, stages: readonly Stage[]): Place {
  const known = stages.find(({ key }) => key === stage);
  const step = known?.steps.find(({ id }) => id === stepRunId);
  const name = known?.name ?? stage;
  return {
    key: stepRunId ?? jobId,
    stage,
    stepRunId: stepRunId ?? undefined,
    name: step ? `${name} / ${step.name}` : name,
  };
}
