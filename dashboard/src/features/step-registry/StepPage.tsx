// One step of a registry: its documentation, its versions, who uses it, and what has changed between versions.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { registryStepQuery, stepUsageQuery } from "@/api/registryStep";
import { registryQuery } from "@/api/stepRegistry";
import type { RegistryStep, StepRegistry } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import type { StepRef } from "@/lib/paths";
import { step as texts } from "@/texts/en/registryStep";
import { PageHead } from "@/ui/Page";
import { Segments } from "@/ui/Segments";
import { SkeletonRows } from "@/ui/Skeleton";
import { Changes } from "./Changes";
import { Docs } from "./Docs";
import { Usage } from "./Usage";
import { Versions } from "./Versions";

const ROUTE = "/o/$org/step-registries/$registry/steps/$step";
const VIEWS = ["docs", "versions", "usage", "changes"] as const;

export function StepPage(): ReactNode {
  const ref = useParams({ from: ROUTE });
  const registry = useQuery(registryQuery(ref.org, ref.registry));
  const step = useQuery(registryStepQuery(ref));
  useTitle(ref.step, ref.org);
  const failed = [registry, step].find(({ error, data }) => error && !data);
  if (failed) return <ProblemPanel error={failed.error} onRetry={() => void failed.refetch()} />;
  return registry.data && step.data ? (
    <Loaded place={ref} registry={registry.data} step={step.data} />
  ) : (
    <SkeletonRows />
  );
}

type Props = { place: StepRef; registry: StepRegistry; step: RegistryStep };

function Loaded({ place, registry, step }: Props) {
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const usage = useQuery(stepUsageQuery(place));
  const view = VIEWS.find((known) => known === search.view) ?? "docs";
  const version = search.version ?? step.newest.version;
  const counts = { docs: undefined, versions: step.versions, usage: usage.data?.pagination.total, changes: undefined };
  return (
    <>
      <PageHead title={step.name} />
      {step.newest.description && <p className="mb-4 max-w-prose wrap-anywhere text-ink2">{step.newest.description}</p>}
      <div className="mb-4">
        <Segments
          label={texts.view}
          value={view}
          segments={VIEWS.map((value) => ({ value, label: texts.views[value], count: counts[value] }))}
          onChange={(next) =>
            void navigate({ search: { view: next === "docs" ? undefined : next, version: search.version } })
          }
        />
      </div>
      {view === "docs" && <Docs place={place} registry={registry} step={step} version={version} />}
      {view === "versions" && <Versions place={place} registry={registry} />}
      {view === "usage" && <Usage place={place} />}
      {view === "changes" && <Changes place={place} to={version} from={search.from} />}
    </>
  );
}
