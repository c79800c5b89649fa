// What ended this person's sessions without them. It stays, also after a reload, until they mark it as read.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { keys } from "@/api/keys";
import { markNoticesRead, noticesQuery } from "@/api/notice";
import type { Notice } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { home as texts } from "@/texts/en/home";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { readUntil, sentenceOf } from "./happened";
import { Ago, Section } from "./rows";

export function Notices({ org }: { org: string }): ReactNode {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(noticesQuery(org));
  const mark = useMutation({
    mutationFn: (until: string) => markNoticesRead(org, until),
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.notices(org) }),
  });
  const until = readUntil(data ?? []);
  if (error && !data) {
    return (
      <Section title={texts.happened}>
        <ProblemPanel error={error} onRetry={() => void refetch()} />
      </Section>
    );
  }
  if (!data || until === undefined) return null;
  const action = (
    <Button look="quiet" busy={mark.isPending} onClick={() => mark.mutate(until)}>
      {texts.markRead}
    </Button>
  );
  return (
    <Section title={texts.happened} action={action}>
      <ul>
        {data.map((notice) => (
          <NoticeRow key={notice.sessionId} org={org} notice={notice} />
        ))}
      </ul>
    </Section>
  );
}

function NoticeRow({ org, notice }: { org: string; notice: Notice }) {
  const now = useNow("half-minute");
  const { envName, pipeline, sessionId, at } = notice;
  const ref = { org, pipeline, env: envName };
  return (
    <li className="flex min-h-row flex-wrap items-center gap-x-3 border-b border-line px-2 py-1">
      <span className="min-w-0 flex-1 wrap-anywhere max-md:basis-full">{sentenceOf(notice)}</span>
      <span className="text-13 text-ink3">{pipeline}</span>
      <Ago time={timeOf(at)} now={now} />
      <Link to={paths.session(ref, sessionId)} aria-label={texts.detailsOf(envName)} className="text-13 underline">
        {texts.details}
      </Link>
      <Link to={paths.environment(ref)} aria-label={texts.claimAgain(envName)} className="text-13 underline">
        {texts.again}
      </Link>
    </li>
  );
}
