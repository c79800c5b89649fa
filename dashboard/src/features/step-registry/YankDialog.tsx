// Yank a version, or refuse it as well.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { stepUsageQuery, yankStepVersion } from "@/api/registryStep";
import type { RegistryStepVersion } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import type { StepRef } from "@/lib/paths";
import { yank as texts } from "@/texts/en/registryStep";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";

type Props = { place: StepRef; version: RegistryStepVersion; onClose: () => void };

export function YankDialog({ place, version: { name, version, yanked }, onClose }: Props) {
  const queries = useQueryClient();
  const usage = useQuery(stepUsageQuery(place)).data?.data;
  const [reason, setReason] = useState(yanked?.reason ?? "");
  const [isRefused, setRefused] = useState(Boolean(yanked));
  const [isTouched, setTouched] = useState(false);
  const isMissing = reason.trim() === "";
  const pipelines = new Set(usage?.filter((use) => use.version === version).map(({ pipelineId }) => pipelineId));
  const send = useMutation({
    mutationFn: () => yankStepVersion(place, version, { reason: reason.trim(), refuse: isRefused }),
    onSuccess: () => {
      onClose();
      showToast({ title: isRefused ? texts.refused(version) : texts.yanked(version) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.stepRegistries(place.org) }),
  });
  const problem = send.error instanceof Problem ? send.error : undefined;
  const action = yanked ? texts.refuseAction : isRefused ? texts.action : texts.yank;
  return (
    <Dialog
      open
      danger
      onClose={onClose}
      title={yanked ? texts.refuseTitle(name, version) : texts.title(name, version)}
      description={texts.text}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isMissing && !send.isPending) send.mutate();
        }}
      >
        {usage && (
          <p className={pipelines.size > 0 ? "text-amber" : "text-ink2"}>
            {pipelines.size > 0 ? texts.usedBy(pipelines.size) : texts.usedByNone}
          </p>
        )}
        <TextArea
          label={texts.reason}
          hint={texts.reasonHint}
          maxLength={500}
          error={isTouched && isMissing ? texts.reasonRequired : problem?.field("/reason")}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {!yanked && (
          <label className="flex min-h-row items-center gap-2">
            <input type="checkbox" checked={isRefused} onChange={(event) => setRefused(event.target.checked)} />
            {texts.refuse}
          </label>
        )}
        {send.error && <ProblemPanel error={send.error} />}
        <Button type="submit" look="danger" busy={send.isPending} className="self-start max-md:w-full">
          {action}
        </Button>
      </form>
    </Dialog>
  );
}
