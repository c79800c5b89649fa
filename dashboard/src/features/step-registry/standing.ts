// Whether a definition that is saved now can lock a version, by the rules of its registry. The server decides; this
// is for the marks in lists. Pure.
import type { RegistryStepVersion, StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import type { StepVersionState } from "@/ui/state";

type Version = Pick<RegistryStepVersion, "digest" | "seenAt" | "signer" | "yanked">;
type Rules = Pick<StepRegistry, "minimumAgeSeconds" | "requireSignature" | "signers">;

/** `others`: further versions of the step, because content that is refused stays so under another version. */
export function standingOf(
  version: Version,
  rules: Rules,
  now: number,
  others: readonly Version[] = [],
): StepVersionState {
  if (others.some(({ digest, yanked }) => yanked?.refused && digest === version.digest)) return "refused";
  if (version.yanked) return version.yanked.refused ? "refused" : "yanked";
  if (rules.requireSignature && !isSigned(version, rules)) return "unsigned";
  const until = usableAt(version, rules);
  return until !== undefined && until > now ? "young" : "usable";
}

/** When the version has the minimum age. `undefined` if the registry requires none. */
export function usableAt({ seenAt }: Version, { minimumAgeSeconds }: Rules): number | undefined {
  const seen = timeOf(seenAt);
  return seen === undefined || minimumAgeSeconds === 0 ? undefined : seen + minimumAgeSeconds * 1_000;
}

/** A version is signed as long as the name that has signed it is among the signers. */
export function isSigned({ signer }: Pick<Version, "signer">, { signers }: Pick<Rules, "signers">): boolean {
  return Boolean(signer) && signers.some((line) => line.split(" ")[0] === signer);
}
