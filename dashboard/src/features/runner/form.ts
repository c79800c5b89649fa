// The forms of runners and pools: what is wrong in them, and their requests. Pure.
import type { PoolChange } from "@/api/runner";
import type { Network, RunnerPool } from "@/api/types";

const POOL = /^[a-z][a-z0-9-]{0,62}$/;

export function isPoolName(name: string): boolean {
  return POOL.test(name);
}

export type PoolForm = {
  network: Network;
  /** `undefined` for all. */
  pipelines: readonly string[] | undefined;
  environments: string;
};

export function poolFormOf({ network, pipelines, environments }: RunnerPool): PoolForm {
  return { network, pipelines: pipelines ?? undefined, environments: (environments ?? []).join(", ") };
}

/** Only what has changed is sent, so that two admins do not undo each other's changes. */
export function poolChangeOf(pool: RunnerPool, form: PoolForm): PoolChange {
  const environments = namesOf(form.environments);
  const next = {
    network: form.network,
    pipelines: form.pipelines ? [...form.pipelines] : null,
    environments: environments.length > 0 ? environments : null,
  };
  const old = { network: pool.network, pipelines: pool.pipelines ?? null, environments: pool.environments ?? null };
  return {
    ...(next.network === old.network ? {} : { network: next.network }),
    ...(isSame(next.pipelines, old.pipelines) ? {} : { pipelines: next.pipelines }),
    ...(isSame(next.environments, old.environments) ? {} : { environments: next.environments }),
  };
}

function namesOf(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((name) => name.trim())
    .filter(Boolean);
}

function isSame(left: readonly string[] | null, right: readonly string[] | null): boolean {
  return JSON.stringify(left?.toSorted()) === JSON.stringify(right?.toSorted());
}

/** The command that starts a runner whose token is in a file. */
export function commandOf(origin: string): string {
  return `GREENROOM_URL=${origin}/api/v1 \\\n  greenroom-runner --token-file runner-token --work-dir /var/lib/greenroom-runner`;
}
