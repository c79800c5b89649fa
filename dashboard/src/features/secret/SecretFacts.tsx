// Facts about a secret.
import type { Secret } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { secret as texts } from "@/texts/en/secret";
import { clock } from "@/texts/en/time";
import { Facts } from "@/ui/Table";
import { type NameOf, Rules, scopeText } from "./Rules";

type Props = { secret: Secret; nameOf: NameOf; memberOf: (userId: string) => string };

export function SecretFacts({ secret, nameOf, memberOf }: Props) {
  const facts = [
    { name: texts.scope, value: scopeText(secret, nameOf) },
    { name: texts.rules, value: <Rules secret={secret} nameOf={nameOf} /> },
    { name: texts.version, value: <code className="text-12">{texts.number(secret.activeVersion)}</code> },
    { name: texts.createdBy, value: memberOf(secret.createdBy) },
    { name: texts.createdOn, value: timeText(secret.createdAt) },
    { name: texts.changed, value: timeText(secret.updatedAt) },
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts} />
    </section>
  );
}

function timeText(value: string): string {
  const time = timeOf(value);
  return time === undefined ? "–" : clock(time, Date.now());
}
