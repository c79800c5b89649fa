// Which pipelines use a step, and the version that each has locked.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { meQuery } from "@/api/me";
import { stepUsageQuery, stepVersionsQuery } from "@/api/registryStep";
import type { RegistryStepVersion, StepUsage } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { lazily } from "@/lib/lazily";
import { paths, type StepRef } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { stepUpdate, stepUsage as texts } from "@/texts/en/registryStep";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Link } from "@/ui/Link";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { stepVersionState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";

const UpdateDialog = lazily(() => import("./UpdateDialog"), "UpdateDialog");
const ROUTE = "/o/$org/step-registries/$registry/steps/$step";

export function Usage({ place }: { place: StepRef }) {
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const usage = useQuery({ ...stepUsageQuery(place, offset), placeholderData: keepPreviousData });
  const versions = useQuery(stepVersionsQuery(place)).data?.data ?? [];
  const role = useQuery(meQuery(place.org)).data?.role;
  const [toUpdate, setToUpdate] = useState<string | undefined>();
  if (!usage.data)
    return usage.error ? (
      <ProblemPanel error={usage.error} onRetry={() => void usage.refetch()} />
    ) : (
      <SkeletonRows rows={3} />
    );
  const { data, pagination } = usage.data;
  if (data.length === 0 && offset === 0) return <Empty title={texts.emptyTitle} text={texts.emptyText} />;
  return (
    <>
      <p className="mb-2 max-w-prose text-13 text-ink2">{texts.intro}</p>
      <Table
        label={texts.intro}
        columns={[...columns(place, versions), ...(role && hasRole(role, "maintainer") ? [updating(setToUpdate)] : [])]}
        rows={data}
        rowKey={({ pipelineId, uses }) => `${pipelineId} ${uses}`}
      />
      <Pager
        offset={offset}
        limit={pagination.limit}
        total={pagination.total}
        onGo={(next) => void navigate({ search: { view: "usage", offset: next > 0 ? String(next) : undefined } })}
      />
      <Suspense>
        {toUpdate && <UpdateDialog org={place.org} pipeline={toUpdate} onClose={() => setToUpdate(undefined)} />}
      </Suspense>
    </>
  );
}

function updating(onUpdate: (pipeline: string) => void): Column<StepUsage> {
  return {
    name: stepUpdate.action,
    phone: true,
    tight: true,
    end: true,
    cell: ({ pipeline }) => (
      <Button aria-label={`${stepUpdate.action} ${stepUpdate.actionOf(pipeline)}`} onClick={() => onUpdate(pipeline)}>
        {stepUpdate.action}
      </Button>
    ),
  };
}

function columns(place: StepRef, versions: readonly RegistryStepVersion[]): Column<StepUsage>[] {
  return [
    {
      name: texts.pipeline,
      phone: true,
      line: true,
      cell: ({ pipeline }) => (
        <Link to={paths.pipeline(place.org, pipeline)} className="font-strong wrap-anywhere hover:underline">
          {pipeline}
        </Link>
      ),
    },
    { name: texts.uses, phone: true, cell: ({ uses }) => <code className="text-12 wrap-anywhere">{uses}</code> },
    {
      name: texts.version,
      phone: true,
      cell: ({ version }) => {
        const yanked = versions.find((known) => known.version === version)?.yanked;
        return (
          <span className="inline-flex flex-wrap items-center gap-x-2">
            <Link to={paths.registryStep(place, { version })} className="hover:underline">
              <code className="text-12">{version}</code>
            </Link>
            {yanked && <StateMark state={stepVersionState(yanked.refused ? "refused" : "yanked")} />}
          </span>
        );
      },
    },
    {
      name: texts.definition,
      tight: true,
      end: true,
      cell: ({ definitionVersion }) => (
        <span className="text-13 text-ink2">{texts.definitionVersion(definitionVersion)}</span>
      ),
    },
  ];
}
