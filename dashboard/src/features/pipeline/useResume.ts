// Resumes a pipeline that was stopped.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { resumePipeline } from "@/api/pipeline";
import type { Pipeline } from "@/api/types";
import { showProblem } from "@/features/problem";
import { pipeline as texts } from "@/texts/en/pipeline";
import { showToast } from "@/ui/toasts";

export function useResume(org: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: Pick<Pipeline, "id" | "slug" | "name">) => resumePipeline(org, id),
    onSuccess: (pipeline) => showToast({ title: texts.resumed(pipeline.name) }),
    onError: showProblem,
    onSettled: (_, __, { id, slug }) => {
      void queries.invalidateQueries({ queryKey: keys.pipelines(org) });
      for (const name of [id, slug]) void queries.invalidateQueries({ queryKey: keys.pipeline(org, name) });
    },
  });
}
