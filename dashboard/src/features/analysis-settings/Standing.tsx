// Whether a model is on, the host that gets the evidence, and what was used of the limits.
import type { AnalysisSettings } from "@/api/types";
import { useNow } from "@/lib/ticker";
import { costText, settings as texts, countText } from "@/texts/en/analysisSettings";
import { full } from "@/texts/en/time";
import { Badge, StateMark } from "@/ui/Badge";
import { type State, workState } from "@/ui/state";
import { Facts } from "@/ui/Table";
import { type Budget, budgetsOf } from "./usage";

const ON: State = { ...workState("succeeded"), word: texts.on };
const OFF: State = { ...workState("canceled"), word: texts.off };
const USED_UP: State = { ...workState("waiting"), word: texts.usedUp };

export function Standing({ settings }: { settings: AnalysisSettings }) {
  const now = useNow("half-minute");
  const { enabled, host, model } = settings;
  return (
    <section aria-label={texts.standing} className="door mb-6 border border-line bg-surface p-4">
      <div className="mb-3 flex items-start gap-3">
        <Badge state={enabled ? ON : OFF} />
        <p className="min-w-0">
          {enabled ? (
            <>
              {texts.sentTo} <b className="font-bold wrap-anywhere">{host}</b>.
              {model && <span className="block text-13 wrap-anywhere text-ink2">{texts.by(model)}</span>}
            </>
          ) : (
            texts.nothingSent
          )}
        </p>
      </div>
      <Facts
        facts={budgetsOf(settings).map((budget) => ({
          name: texts.budgets[budget.of],
          value: <Used budget={budget} now={now} />,
        }))}
      />
    </section>
  );
}

function Used({ budget, now }: { budget: Budget; now: number }) {
  const { resetsAt } = budget;
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="tabular-nums">{budget.of === "cost" ? costText(budget) : countText(budget)}</span>
      {budget.isUsedUp && <StateMark state={USED_UP} />}
      {budget.limit !== undefined && resetsAt !== undefined && (
        <span className="text-13 text-ink2" title={full(resetsAt)}>
          {texts.resets(resetsAt, now)}
        </span>
      )}
    </span>
  );
}
