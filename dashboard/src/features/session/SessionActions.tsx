// What the holder can do with a session; maintainers can end it too.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { environmentQuery } from "@/api/environment";
import { keys } from "@/api/keys";
import { releaseSession, renewSession, type SessionRef } from "@/api/session";
import type { Me, Session } from "@/api/types";
import { showProblem } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useKeys } from "@/lib/keys";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { environment as environmentTexts } from "@/texts/en/environment";
import { releaseQuestion } from "@/texts/en/release";
import { session as texts } from "@/texts/en/session";
import { clock } from "@/texts/en/time";
import { Button, buttonClass } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { showToast } from "@/ui/toasts";

const GiveDialog = lazily(() => import("./GiveDialog"), "GiveDialog");
const Confirm = lazily(() => import("@/ui/Confirm"), "Confirm");
const DeployDialog = lazily(() => import("@/features/environment"), "DeployAnywhere");

type Props = { at: SessionRef; session: Session; me: Me; mine: boolean };
type Open = "deploy" | "give" | "end";

export function SessionActions({ at, session, me, mine }: Props) {
  const queries = useQueryClient();
  const [open, setOpen] = useState<Open | undefined>();
  const environment = useQuery({ ...environmentQuery(at), enabled: mine }).data;
  const close = () => setOpen(undefined);
  const settle = (changed: Session) => {
    queries.setQueryData(keys.session(at.org, at.session), changed);
    void queries.invalidateQueries({ queryKey: keys.environment(at.org, at.pipeline, at.env) });
    void queries.invalidateQueries({ queryKey: keys.mySessions(at.org) });
  };
  const renew = useMutation({
    mutationFn: () => renewSession(at),
    onSuccess: (changed) => {
      settle(changed);
      const until = timeOf(changed.expiresAt);
      if (until !== undefined) showToast({ title: environmentTexts.renewed(at.env, clock(until, Date.now())) });
    },
    onError: showProblem,
  });
  const end = useMutation({
    mutationFn: () => releaseSession(at),
    onSuccess: (changed) => {
      close();
      settle(changed);
      showToast({ title: environmentTexts.released(at.env) });
    },
    onError: showProblem,
  });
  const isRunning = session.deployments.some(({ endedAt }) => !endedAt);
  const question = releaseQuestion({ isRunning, waiting: session.lock.queueLength });
  const release = () => (question || !mine ? setOpen("end") : end.mutate());
  useKeys({ d: () => setOpen("deploy"), r: () => renew.mutate(), x: release }, mine);
  return (
    <>
      {mine && (
        <>
          <Button look="primary" onClick={() => setOpen("deploy")}>
            {environmentTexts.deploy}
          </Button>
          <Button busy={renew.isPending} onClick={() => renew.mutate()}>
            {environmentTexts.renew}
          </Button>
          <Button onClick={() => setOpen("give")}>{texts.give}</Button>
        </>
      )}
      {(mine || hasRole(me.role, "maintainer")) && (
        <Button busy={end.isPending} onClick={release}>
          {mine ? environmentTexts.release : texts.end}
        </Button>
      )}
      <Link to={paths.environment(at)} className={buttonClass("quiet")}>
        {texts.toEnvironment}
      </Link>
      <Suspense>
        {open === "give" && <GiveDialog at={at} me={me} onDone={close} onClose={close} />}
        {open === "deploy" && environment && (
          <DeployDialog
            org={at.org}
            pipeline={at.pipeline}
            environment={environment}
            viewer={{ userId: me.userId, role: me.role, places: new Map() }}
            onDone={close}
            onClose={close}
          />
        )}
        {open === "end" && (
          <Confirm
            title={mine ? environmentTexts.releaseRunning(at.env) : texts.endTitle(session.claimedBy.name)}
            text={mine ? (question ?? "") : texts.endText(session.claimedBy.name, at.env)}
            action={mine ? environmentTexts.release : texts.end}
            busy={end.isPending}
            onConfirm={() => end.mutate()}
            onClose={close}
          />
        )}
      </Suspense>
    </>
  );
}
