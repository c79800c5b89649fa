// The comment of a user who has given feedback. An empty one is deleted.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { giveFeedback } from "@/api/analysis";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { Analysis } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { feedback as texts } from "@/texts/en/analysis";
import { Button } from "@/ui/Button";
import { TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { isTooLong } from "./choose";

type Props = {
  org: string;
  analysis: Analysis;
  given: { helpful: boolean; comment: string };
  onDone: () => void;
};

export function CommentForm({ org, analysis, given, onDone }: Props) {
  const queries = useQueryClient();
  const [comment, setComment] = useState(given.comment);
  const form = useRef<HTMLFormElement>(null);
  // The button that opened it is gone.
  useEffect(() => form.current?.querySelector("textarea")?.focus(), []);
  const send = useMutation({
    mutationFn: () => giveFeedback(org, analysis.id, { helpful: given.helpful, comment: comment.trim() || undefined }),
    onSuccess: () => {
      showToast({ title: texts.sent });
      onDone();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.evidence(org, analysis.deploymentId) }),
  });
  const problem = send.error instanceof Problem ? send.error : undefined;
  return (
    <form
      ref={form}
      className="flex max-w-prose flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isTooLong(comment) && !send.isPending) send.mutate();
      }}
    >
      <TextArea
        label={texts.label}
        hint={texts.hint}
        error={isTooLong(comment) ? texts.tooLong : problem?.field("/comment")}
        value={comment}
        onChange={(event) => setComment(event.target.value)}
      />
      {send.error && <ProblemPanel error={send.error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={send.isPending}>
          {texts.save}
        </Button>
        <Button onClick={onDone}>{texts.cancel}</Button>
      </div>
    </form>
  );
}
