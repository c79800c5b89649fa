// Whether the analysis of a failure has helped: yes or no, with an optional comment.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { useState } from "react";
import { giveFeedback } from "@/api/analysis";
import { keys } from "@/api/keys";
import type { Analysis, Me } from "@/api/types";
import { showProblem } from "@/features/problem";
import { hasRole } from "@/lib/roles";
import { visible } from "@/lib/visible";
import { feedback as texts } from "@/texts/en/analysis";
import { Button } from "@/ui/Button";
import { showToast } from "@/ui/toasts";
import { feedbackBy } from "./choose";
import { CommentForm } from "./CommentForm";

type Props = { org: string; analysis: Analysis; me: Pick<Me, "userId" | "role"> };

export function Feedback({ org, analysis, me }: Props) {
  const queries = useQueryClient();
  const [isWriting, setWriting] = useState(false);
  const given = feedbackBy(analysis, me.userId);
  const answer = useMutation({
    mutationFn: (helpful: boolean) => giveFeedback(org, analysis.id, { helpful }),
    onSuccess: () => showToast({ title: texts.sent }),
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.evidence(org, analysis.deploymentId) }),
  });
  const why = hasRole(me.role, "developer") ? undefined : texts.developersOnly;
  const choices = [
    { helpful: true, word: texts.yes },
    { helpful: false, word: texts.no },
  ];
  return (
    <>
      <div role="group" aria-label={texts.question} className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="text-13 text-ink2">{texts.question}</span>
        {choices.map(({ helpful, word }) => {
          const isChosen = given?.helpful === helpful;
          return (
            <Button
              key={word}
              look={isChosen ? "plain" : "quiet"}
              aria-pressed={isChosen}
              icon={isChosen && <Check aria-hidden size={14} />}
              why={why}
              busy={answer.isPending && answer.variables === helpful}
              // The same answer again would delete the comment.
              onClick={() => !isChosen && answer.mutate(helpful)}
            >
              {word}
            </Button>
          );
        })}
        {given && !isWriting && (
          <Button look="quiet" why={why} onClick={() => setWriting(true)}>
            {given.comment ? texts.changeComment : texts.comment}
          </Button>
        )}
      </div>
      {given && (isWriting || given.comment) && (
        // On a separate line.
        <div className="w-full">
          {isWriting ? (
            <CommentForm org={org} analysis={analysis} given={given} onDone={() => setWriting(false)} />
          ) : (
            <p className="max-w-prose text-13 text-ink2">
              <bdi className="whitespace-pre-wrap wrap-anywhere">{visible(given.comment)}</bdi>
            </p>
          )}
        </div>
      )}
    </>
  );
}
