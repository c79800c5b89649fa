// Tags of a registry that were refused, because they were moved or lack a signature. Nothing is shown if there are none.
import { useQuery } from "@tanstack/react-query";
import { refusalsQuery } from "@/api/stepRegistry";
import { ProblemPanel } from "@/features/problem";
import { useNow } from "@/lib/ticker";
import { registry as texts } from "@/texts/en/stepRegistry";
import { ago, full } from "@/texts/en/time";
import { type Column, Table } from "@/ui/Table";
import { Quoted, sentence } from "./Quoted";
import { type Refusal, refusalsOf } from "./refusals";

export function RefusedTags({ org, registry }: { org: string; registry: string }) {
  const now = useNow("half-minute");
  const events = useQuery(refusalsQuery(org));
  const refusals = refusalsOf(registry, events.data ?? []);
  if (!events.error && refusals.length === 0) return null;
  return (
    <section aria-label={texts.refused} className="mt-6">
      <h2 className="mb-1 text-16">{texts.refused}</h2>
      {events.error && !events.data ? (
        <ProblemPanel error={events.error} onRetry={() => void events.refetch()} />
      ) : (
        <>
          <p className="mb-2 text-13 text-ink2">{texts.refusedText}</p>
          <Table label={texts.refused} columns={columns(now)} rows={refusals} rowKey={({ id }) => id} />
        </>
      )}
    </section>
  );
}

function columns(now: number): Column<Refusal>[] {
  return [
    {
      name: texts.tag,
      phone: true,
      cell: ({ tag, kind }) => (
        <span className="flex flex-col py-1 md:min-w-36">
          <code className="text-12 font-bold wrap-anywhere">{tag}</code>
          <span className="text-13 text-amber">{texts.kinds[kind]}</span>
        </span>
      ),
    },
    {
      name: texts.reason,
      phone: true,
      line: true,
      cell: ({ reason }) => (
        <span className="text-13 wrap-anywhere text-ink2">
          <Quoted text={sentence(reason)} />
        </span>
      ),
    },
    {
      name: texts.when,
      phone: true,
      tight: true,
      end: true,
      cell: ({ at }) => (
        <span title={at === undefined ? undefined : full(at)} className="text-13 text-ink2">
          {at === undefined ? "–" : ago(at, now)}
        </span>
      ),
    },
  ];
}
