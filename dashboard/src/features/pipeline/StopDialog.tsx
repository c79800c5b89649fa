// Stop a pipeline: what happens to what runs, and why, for those who wait.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { stopPipeline } from "@/api/pipeline";
import type { Pipeline, StopMode } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { pipeline as texts } from "@/texts/en/pipeline";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Select, TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";

const MODES: readonly StopMode[] = ["drain", "pause", "cancel"];

export function StopDialog({ org, pipeline, onClose }: { org: string; pipeline: Pipeline; onClose: () => void }) {
  const queries = useQueryClient();
  const [mode, setMode] = useState<StopMode>("drain");
  const [reason, setReason] = useState("");
  const stop = useMutation({
    mutationFn: () => stopPipeline(org, pipeline.id, { mode, reason: reason.trim() || undefined }),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.stopped(pipeline.name) });
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.pipelines(org) });
      for (const name of [pipeline.id, pipeline.slug])
        void queries.invalidateQueries({ queryKey: keys.pipeline(org, name) });
    },
  });
  return (
    <Dialog open danger onClose={onClose} title={texts.stopTitle(pipeline.name)} description={texts.stopText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!stop.isPending) stop.mutate();
        }}
      >
        <Select label={texts.mode} value={mode} onChange={(event) => setMode(event.target.value as StopMode)}>
          {MODES.map((known) => (
            <option key={known} value={known}>
              {texts.modes[known]}
            </option>
          ))}
        </Select>
        <TextArea
          label={texts.reason}
          hint={texts.reasonHint}
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {stop.error && <ProblemPanel error={stop.error} />}
        <Button type="submit" look="danger" busy={stop.isPending} className="self-start max-md:w-full">
          {texts.stop}
        </Button>
      </form>
    </Dialog>
  );
}
