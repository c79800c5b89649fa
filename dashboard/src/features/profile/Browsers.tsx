// Where the person is signed in; each can be signed out.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { browserSessionsQuery, endBrowserSessions } from "@/api/signIn";
import type { BrowserSession } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { profile as texts } from "@/texts/en/profile";
import { ago } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { browserOf } from "./agent";
import { Section } from "./Section";

export function Browsers() {
  const queries = useQueryClient();
  const browsers = useQuery(browserSessionsQuery);
  const end = useMutation({
    mutationFn: (sessionId: string | undefined) => endBrowserSessions(sessionId),
    onSuccess: ({ ended }, sessionId) => showToast({ title: sessionId ? texts.ended : texts.endedAll(ended.length) }),
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.browserSessions }),
  });
  const others = browsers.data?.filter(({ current }) => !current).length ?? 0;
  return (
    <Section title={texts.browsers} text={texts.browsersText}>
      {browsers.isPending && <SkeletonRows rows={2} />}
      {browsers.error && !browsers.data && (
        <ProblemPanel error={browsers.error} onRetry={() => void browsers.refetch()} />
      )}
      <ul aria-label={texts.browsers}>
        {browsers.data?.map((session) => (
          <Row
            key={session.id}
            session={session}
            busy={end.isPending && end.variables === session.id}
            onEnd={() => end.mutate(session.id)}
          />
        ))}
      </ul>
      {others > 1 && (
        <Button className="self-start" busy={end.isPending && !end.variables} onClick={() => end.mutate(undefined)}>
          {texts.endAll}
        </Button>
      )}
    </Section>
  );
}

function Row({ session, busy, onEnd }: { session: BrowserSession; busy: boolean; onEnd: () => void }) {
  const now = useNow("half-minute");
  const name = browserOf(session.userAgent);
  const used = timeOf(session.lastUsedAt);
  const title = name ? texts.on(name.browser, name.system) : session.userAgent || texts.unknownBrowser;
  return (
    <li className="flex min-h-row items-center gap-3 border-b border-line py-1.5">
      <span className="flex min-w-0 flex-1 flex-col">
        <span className="truncate font-strong" title={session.userAgent}>
          {title}
        </span>
        <span className="text-13 text-ink2">
          {texts.method.toLowerCase()} {texts.methods[session.method] ?? session.method}
          {used !== undefined && `, ${texts.used.toLowerCase()} ${ago(used, now)}`}
        </span>
      </span>
      {session.current ? (
        <span className="text-13 text-ink2">{texts.thisBrowser}</span>
      ) : (
        <Button busy={busy} onClick={onEnd}>
          {texts.end}
          <span className="sr-only"> {title}</span>
        </Button>
      )}
    </li>
  );
}
