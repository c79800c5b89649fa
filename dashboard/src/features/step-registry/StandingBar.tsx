// Why a version can't be locked, and what to do. Nothing is shown of one that can.
import { useQuery } from "@tanstack/react-query";
import { membersQuery } from "@/api/member";
import { stepVersionsQuery } from "@/api/registryStep";
import type { RegistryStepVersion, StepRegistry } from "@/api/types";
import { cx } from "@/lib/classes";
import { shortId } from "@/lib/ids";
import type { StepRef } from "@/lib/paths";
import { stepVersions as texts } from "@/texts/en/registryStep";
import { StateMark } from "@/ui/Badge";
import { stepVersionState } from "@/ui/state";
import { toneSoft } from "@/ui/tone";
import { standingOf, usableAt } from "./standing";

type Props = { place: StepRef; version: RegistryStepVersion; rules: StepRegistry; now: number };

export function StandingBar({ place, version, rules, now }: Props) {
  const members = useQuery(membersQuery(place.org)).data?.data;
  const others = useQuery(stepVersionsQuery(place)).data?.data;
  const standing = standingOf(version, rules, now, others);
  if (standing === "usable") return null;
  const state = stepVersionState(standing);
  const { yanked } = version;
  const by = yanked && (members?.find(({ userId }) => userId === yanked.by)?.name ?? shortId(yanked.by));
  const text = {
    refused: yanked?.refused ? texts.refusedText : texts.sameContentText,
    yanked: texts.yankedText,
    unsigned: texts.unsignedText,
    young: texts.youngText(usableAt(version, rules) ?? now, now),
  }[standing];
  return (
    <div className={cx("mb-4 rounded-6 px-3 py-2", toneSoft[state.tone])}>
      <p className="flex flex-wrap items-center gap-x-3">
        <StateMark state={state} />
        {yanked && by && (
          <span className="min-w-0 wrap-anywhere">
            {yanked.refused ? texts.refused(by, yanked.reason) : texts.yanked(by, yanked.reason)}
          </span>
        )}
      </p>
      <p className="max-w-prose text-13">{text}</p>
    </div>
  );
}
