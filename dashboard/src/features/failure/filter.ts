// The filters of the address. Values that are not known count as left out. Pure.
import { type FailureFilter, PERIODS, type Period } from "@/api/failure";
import { VERDICTS } from "@/ui/verdict";

type Search = { pipeline?: string; verdict?: string; since?: string };

export function filterOf({ pipeline, verdict, since }: Search): FailureFilter {
  return {
    pipeline: pipeline || undefined,
    verdict: VERDICTS.find((known) => known === verdict),
    since: since !== undefined && Object.hasOwn(PERIODS, since) ? (since as Period) : undefined,
  };
}

export const isFiltered = (filter: FailureFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined);
