// What keeps deployments from beginning: a freeze, a hold.
import { Lock, Snowflake } from "lucide-react";
import type { ReactNode } from "react";
import type { LastingEnvironment } from "@/api/types";
import { cx } from "@/lib/classes";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { lastingPage as texts } from "@/texts/en/lasting";
import { Link } from "@/ui/Link";
import { toneSoft } from "@/ui/tone";
import { freezeOf, holdOf } from "./state";

type Props = { org: string; environment: LastingEnvironment; userId: string; now: number };

export function Gates({ org, environment, userId, now }: Props) {
  const freeze = freezeOf(environment, now);
  const hold = holdOf(environment, now);
  return (
    <>
      {freeze && (
        <Bar tone={toneSoft.blue} icon={<Snowflake aria-hidden size={18} />}>
          <strong>{texts.frozenUntil(timeOf(freeze.until) ?? now, now)}</strong> {freeze.name}: “{freeze.reason}”{" "}
          {texts.frozenText}{" "}
          <Link to={paths.freezes(org)} className="underline">
            {texts.toFreezes}
          </Link>
        </Bar>
      )}
      {hold && (
        <Bar tone={toneSoft.slate} icon={<Lock aria-hidden size={18} />}>
          <strong>{texts.heldBy(hold.by.name, timeOf(hold.since) ?? now, timeOf(hold.until) ?? now, now)}</strong> “
          {hold.reason}” {hold.by.id === userId ? texts.yourHoldText : texts.heldText(hold.by.name)}
        </Bar>
      )}
    </>
  );
}

function Bar({ tone, icon, children }: { tone: string; icon: ReactNode; children: ReactNode }) {
  return (
    <div className={cx("mb-4 flex gap-2 rounded-6 px-3 py-2", tone)}>
      <span className="mt-px shrink-0">{icon}</span>
      <p className="min-w-0 wrap-anywhere">{children}</p>
    </div>
  );
}
