// Give the environment to another member. The own session ends, and one of the other member begins.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { membersQuery } from "@/api/member";
import { type SessionRef, transferSession } from "@/api/session";
import type { Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { session as texts } from "@/texts/en/session";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Select } from "@/ui/Field";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { receiversOf } from "./receivers";

type Props = { at: SessionRef; me: Me; onDone: () => void; onClose: () => void };

export function GiveDialog({ at, me, onDone, onClose }: Props) {
  const router = useRouter();
  const queries = useQueryClient();
  const members = useQuery(membersQuery(at.org));
  const receivers = receiversOf(members.data?.data ?? [], me.userId);
  const [chosen, setChosen] = useState<string | undefined>();
  const userId = chosen ?? receivers[0]?.userId;
  const give = useMutation({
    mutationFn: (receiver: string) => transferSession(at, receiver),
    onSuccess: (session) => {
      showToast({ title: texts.given(at.env, session.claimedBy.name) });
      for (const key of [keys.session(at.org, at.session), keys.mySessions(at.org)])
        void queries.invalidateQueries({ queryKey: key });
      void queries.invalidateQueries({ queryKey: keys.environment(at.org, at.pipeline, at.env) });
      onDone();
      router.history.push(paths.session(at, session.sessionId));
    },
  });
  return (
    <Dialog open onClose={onClose} title={texts.giveTitle(at.env)} description={texts.giveText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (userId && !give.isPending) give.mutate(userId);
        }}
      >
        {members.isPending && <SkeletonRows rows={1} />}
        {members.error && !members.data && (
          <ProblemPanel error={members.error} onRetry={() => void members.refetch()} />
        )}
        {members.data && receivers.length === 0 && <p className="text-ink2">{texts.nobody}</p>}
        {receivers.length > 0 && (
          <Select label={texts.receiver} value={userId} onChange={(event) => setChosen(event.target.value)}>
            {receivers.map((member) => (
              <option key={member.userId} value={member.userId}>
                {member.name} ({member.email})
              </option>
            ))}
          </Select>
        )}
        {give.error && <ProblemPanel error={give.error} />}
        <Button
          type="submit"
          look="primary"
          busy={give.isPending}
          why={userId ? undefined : texts.nobody}
          className="self-start max-md:w-full"
        >
          {texts.give}
        </Button>
      </form>
    </Dialog>
  );
}
