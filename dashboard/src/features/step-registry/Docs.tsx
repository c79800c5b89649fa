// The documentation of one version of a step.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Suspense } from "react";
import { stepVersionQuery } from "@/api/registryStep";
import type { RegistryStep, StepRegistry } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { lazily } from "@/lib/lazily";
import type { StepRef } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { step as texts } from "@/texts/en/registryStep";
import { DetailColumns } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { Files } from "./Files";
import { StandingBar } from "./StandingBar";
import { VersionFacts } from "./VersionFacts";
import { VersionSelect } from "./VersionSelect";

// With the parser of YAML, which nothing else needs.
const ManifestDocs = lazily(() => import("./ManifestDocs"), "ManifestDocs");

const ROUTE = "/o/$org/step-registries/$registry/steps/$step";

type Props = { place: StepRef; registry: StepRegistry; step: RegistryStep; version: string };

export function Docs({ place, registry, step, version }: Props) {
  const now = useNow("half-minute");
  const navigate = useNavigate({ from: ROUTE });
  const detail = useQuery(stepVersionQuery(place, version));
  const newest = step.newest.version;
  const select = (
    <VersionSelect
      place={place}
      label={texts.version}
      value={version}
      wordOf={(listed) => (listed === newest ? texts.newestMark(listed) : listed)}
      onChange={(next) => void navigate({ search: { version: next === newest ? undefined : next } })}
    />
  );
  if (!detail.data)
    return (
      <>
        <p className="mb-4">{select}</p>
        {detail.error ? <ProblemPanel error={detail.error} onRetry={() => void detail.refetch()} /> : <SkeletonRows />}
      </>
    );
  return (
    <DetailColumns
      head={
        <>
          <p className="mb-3">{select}</p>
          <StandingBar place={place} version={detail.data} rules={registry} now={now} />
        </>
      }
      main={
        <>
          <Suspense fallback={<SkeletonRows />}>
            <ManifestDocs place={place} registry={registry} version={detail.data} isNewest={version === newest} />
          </Suspense>
          <Files files={detail.data.files} />
        </>
      }
      aside={<VersionFacts org={place.org} registry={registry} version={detail.data} />}
    />
  );
}
