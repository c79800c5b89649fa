// Update the steps of a pipeline: which versions change, before they do.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { stepUpdateQuery, updateSteps } from "@/api/pipelineSteps";
import type { StepLockChange } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { stepUpdate as texts } from "@/texts/en/registryStep";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Link } from "@/ui/Link";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";

type Props = { org: string; pipeline: string; onClose: () => void };

export function UpdateDialog({ org, pipeline, onClose }: Props) {
  const queries = useQueryClient();
  const planned = useQuery(stepUpdateQuery(org, pipeline));
  const update = useMutation({
    mutationFn: () => updateSteps(org, pipeline),
    onSuccess: ({ definitionVersion }) => {
      onClose();
      showToast({ title: texts.updated(pipeline, definitionVersion) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.stepUsage(org) }),
  });
  const changes = planned.data?.stepChanges;
  return (
    <Dialog open onClose={onClose} title={texts.title(pipeline)} description={texts.text}>
      <div className="flex flex-col gap-4">
        {planned.error && <ProblemPanel error={planned.error} onRetry={() => void planned.refetch()} />}
        {!changes && !planned.error && <SkeletonRows rows={1} />}
        {changes?.length === 0 && <p>{texts.nothing}</p>}
        {changes && changes.length > 0 && (
          <ul aria-label={texts.changes} className="flex flex-col gap-2">
            {changes.map((change) => (
              <Change key={change.uses} org={org} change={change} />
            ))}
          </ul>
        )}
        {update.error && <ProblemPanel error={update.error} />}
        {changes && changes.length > 0 && (
          <Button
            look="primary"
            busy={update.isPending}
            className="self-start max-md:w-full"
            onClick={() => !update.isPending && update.mutate()}
          >
            {texts.action}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function Change({ org, change: { uses, before, after } }: { org: string; change: StepLockChange }) {
  const versions = texts.versions(before?.version, after?.version);
  // Versions of different registries can't be compared.
  const isComparable = before && after && before.registryId === after.registryId;
  const place = after && { org, registry: after.registryId, step: after.name };
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
      <code className="text-12 wrap-anywhere">{uses}</code>
      <span>{versions}</span>
      {isComparable && place && (
        <Link
          to={paths.registryStep(place, { view: "changes", version: after.version, from: before.version })}
          className="text-13 hover:underline"
        >
          {texts.compare}
        </Link>
      )}
    </li>
  );
}
