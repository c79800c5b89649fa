// All failures with one fingerprint: how often, since when, what ended the last one, the note, the newest ones.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { failureQuery } from "@/api/failure";
import type { FailureHistory } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { shortId } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { categoryWords, endText, failure as texts, note as noteTexts, panel } from "@/texts/en/failure";
import { clock } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { DetailColumns, PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { Facts } from "@/ui/Table";
import { FailureTable } from "./FailureTable";
import { LogText } from "@/ui/LogText";
import { Note } from "./Note";

const ROUTE = "/o/$org/failures/$fingerprint";

export function FailurePage(): ReactNode {
  const { org, fingerprint } = useParams({ from: ROUTE });
  const history = useQuery(failureQuery(org, fingerprint));
  useTitle(texts.title, shortId(fingerprint));
  if (history.error && !history.data)
    return <ProblemPanel error={history.error} onRetry={() => void history.refetch()} />;
  return history.data ? <Loaded org={org} history={history.data} /> : <SkeletonRows />;
}

function Loaded({ org, history }: { org: string; history: FailureHistory }) {
  const [newest] = history.failures;
  return (
    <>
      <PageHead
        title={newest ? panel.place(newest.stage, newest.step) : texts.title}
        tally={[{ count: history.count, word: texts.timesWord(history.count) }]}
      />
      {newest?.line && (
        <p className="mb-4 rounded-4 bg-log px-4 py-3 font-mono text-13 text-[#edf0ea]">
          <LogText text={newest.line} />
        </p>
      )}
      <DetailColumns
        head={
          <section aria-label={noteTexts.title} className="door border border-line bg-surface p-4">
            <h2 className="mb-1 text-16">{noteTexts.title}</h2>
            <Note org={org} fingerprint={history.fingerprint} note={history.note} />
          </section>
        }
        main={
          <section aria-label={texts.newest}>
            <h2 className="mb-2 text-16">{texts.newest}</h2>
            <FailureTable org={org} label={texts.newest} failures={history.failures} areEqual />
          </section>
        }
        aside={<HistoryFacts org={org} history={history} />}
      />
    </>
  );
}

function HistoryFacts({ org, history }: { org: string; history: FailureHistory }) {
  const now = useNow("half-minute");
  const { firstAt, lastAt, endedBy, fingerprint, failures } = history;
  const category = failures[0]?.category;
  const facts = [
    { name: texts.first, value: clock(Date.parse(firstAt), now) },
    { name: texts.last, value: clock(Date.parse(lastAt), now) },
    {
      name: texts.ended,
      value: endedBy ? (
        <Link to={paths.deployment(org, endedBy.deploymentId)} className="underline">
          {endText(endedBy)}
        </Link>
      ) : (
        texts.notEnded
      ),
    },
    { name: texts.about, value: category ? (categoryWords[category] ?? category) : "–" },
    { name: texts.fingerprint, value: <code className="text-12 break-all">{fingerprint}</code> },
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts} />
    </section>
  );
}
