// Facts about a registry: its address, and what it requires of versions.
import { useQuery } from "@tanstack/react-query";
import { membersQuery } from "@/api/member";
import type { StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortId } from "@/lib/ids";
import { registry as texts } from "@/texts/en/stepRegistry";
import { clock } from "@/texts/en/time";
import { OuterLink } from "@/ui/Link";
import { Facts } from "@/ui/Table";

export function RegistryFacts({ org, registry }: { org: string; registry: StepRegistry }) {
  const members = useQuery(membersQuery(org)).data?.data;
  const { name, url, signers, requireSignature, minimumAgeSeconds, createdBy, createdAt } = registry;
  const isSynced = registry.status !== "disabled" && !registry.deletedAt;
  const facts = [
    {
      name: texts.address,
      value: (
        <OuterLink href={url} className="wrap-anywhere underline">
          {url}
        </OuterLink>
      ),
    },
    ...(registry.deletedAt
      ? []
      : [{ name: texts.usesName, value: <code className="text-12 wrap-anywhere">{texts.usesText(name)}</code> }]),
    ...(isSynced ? [{ name: texts.next, value: timeText(registry.nextSyncAt) }] : []),
    { name: texts.signatures, value: requireSignature ? texts.required : texts.optional },
    { name: texts.signers, value: <Signers signers={signers} /> },
    { name: texts.minimumAge, value: minimumAgeSeconds > 0 ? texts.age(minimumAgeSeconds) : texts.noMinimumAge },
    {
      name: texts.createdBy,
      value: members?.find((member) => member.userId === createdBy)?.name ?? shortId(createdBy),
    },
    { name: texts.createdOn, value: timeText(createdAt) },
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts} />
    </section>
  );
}

/** The name and the type of the key; the whole line as a tooltip. */
function Signers({ signers }: { signers: readonly string[] }) {
  if (signers.length === 0) return <>{texts.noSigners}</>;
  return (
    <ul className="flex flex-col gap-1">
      {signers.map((line) => (
        <li key={line} title={line} className="wrap-anywhere">
          {line.split(" ")[0]}
        </li>
      ))}
    </ul>
  );
}

function timeText(value: string): string {
  const time = timeOf(value);
  return time === undefined ? "–" : clock(time, Date.now());
}
