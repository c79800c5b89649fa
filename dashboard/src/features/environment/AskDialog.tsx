// Ask the holder to hand the environment over. Taking it over by force is offered here, second.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { requestHandover } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { canForce } from "./actions";
import type { DialogProps } from "./BoardDialog";
import { viewOf } from "./view";

export function AskDialog({
  org,
  pipeline,
  environment,
  viewer,
  onDone,
  onClose,
  onForce,
}: DialogProps & { onForce: () => void }) {
  const { envName, lock } = environment;
  const holder = lock.holder?.name ?? "";
  const [context, setContext] = useState("");
  const ask = useMutation({
    mutationFn: () =>
      requestHandover(
        { org, pipeline, env: envName, session: lock.sessionId ?? "" },
        { context: context || undefined },
      ),
    onSuccess: (session) => {
      onDone(session);
      onClose();
      showToast({ title: texts.asked(envName, holder) });
    },
  });
  return (
    <Dialog open onClose={onClose} title={`${texts.ask}: ${envName}`} description={texts.askText(holder)}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!ask.isPending) ask.mutate();
        }}
      >
        <Field
          label={texts.purpose}
          hint={texts.purposeHint}
          maxLength={500}
          value={context}
          onChange={(event) => setContext(event.target.value)}
        />
        {ask.error && <ProblemPanel error={ask.error} />}
        <div className="flex flex-wrap gap-2 max-md:*:flex-1">
          <Button type="submit" look="primary" busy={ask.isPending}>
            {texts.ask}
          </Button>
          {canForce(environment, viewOf(environment, viewer), viewer) && (
            <Button look="quiet" onClick={onForce}>
              {texts.force}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
