// The part of an environment's configuration that the dashboard uses. The document does not type it, because it
// is the pipeline's definition; what is missing or of another type has its default.
import type { Environment, Role } from "@/api/types";
import { ROLES } from "@/lib/roles";

export type Configuration = {
  description: string | undefined;
  leaseDefault: number;
  leaseMax: number;
  forceRole: Role;
};

const HOUR = 3_600;

export function configurationOf({ configuration }: Pick<Environment, "configuration">): Configuration {
  const fields = record(configuration);
  const lease = record(fields.lease);
  const role = ROLES.find((known) => known === record(fields.force).role);
  return {
    description: typeof fields.description === "string" ? fields.description : undefined,
    leaseDefault: seconds(lease.defaultSeconds, 4 * HOUR),
    leaseMax: seconds(lease.maxSeconds, 24 * HOUR),
    forceRole: role ?? "developer",
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function seconds(value: unknown, fallback: number): number {
  return typeof value === "number" && value > 0 ? value : fallback;
}
