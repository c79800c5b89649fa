// The steps of a registry, each with its newest version.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { registryStepsQuery } from "@/api/registryStep";
import type { RegistryStep, StepRegistry } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { count } from "@/texts/en/number";
import { registry as texts } from "@/texts/en/stepRegistry";
import { ago, full } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Empty } from "@/ui/Empty";
import { Link } from "@/ui/Link";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { stepVersionState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import { standingOf } from "./standing";

const ROUTE = "/o/$org/step-registries/$registry";

type Props = { org: string; registry: StepRegistry; isSyncing: boolean };

export function StepTable({ org, registry, isSyncing }: Props) {
  const now = useNow("half-minute");
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const steps = useQuery({ ...registryStepsQuery(org, registry.id, offset), placeholderData: keepPreviousData });
  if (!steps.data)
    return steps.error ? (
      <ProblemPanel error={steps.error} onRetry={() => void steps.refetch()} />
    ) : (
      <SkeletonRows rows={3} />
    );
  const { data, pagination } = steps.data;
  if (data.length === 0 && offset === 0) return <Empty title={texts.noSteps} text={whyEmpty(registry, isSyncing)} />;
  return (
    <>
      <Table label={texts.steps} columns={columns(org, registry, now)} rows={data} rowKey={({ name }) => name} />
      <Pager
        offset={offset}
        limit={pagination.limit}
        total={pagination.total}
        onGo={(next) => void navigate({ search: { offset: next > 0 ? String(next) : undefined } })}
      />
    </>
  );
}

function whyEmpty({ status }: StepRegistry, isSyncing: boolean): string {
  if (isSyncing) return texts.noStepsSyncing;
  return status === "degraded" ? texts.noStepsDegraded : texts.noStepsText;
}

function columns(org: string, registry: StepRegistry, now: number): Column<RegistryStep>[] {
  const small = "text-13 text-ink2";
  return [
    {
      name: texts.step,
      phone: true,
      line: true,
      cell: ({ name, newest }) => (
        <span className="flex flex-col py-1">
          <Link
            to={paths.registryStep({ org, registry: registry.id, step: name })}
            className="font-strong wrap-anywhere hover:underline"
          >
            {name}
          </Link>
          {newest.description && (
            <span className="line-clamp-2 max-w-prose text-13 wrap-anywhere text-ink3">{newest.description}</span>
          )}
        </span>
      ),
    },
    {
      name: texts.newest,
      phone: true,
      tight: true,
      cell: ({ newest }) => {
        const standing = standingOf(newest, registry, now);
        return (
          <span className="inline-flex items-center gap-2">
            <code className="text-12">{newest.version}</code>
            {standing !== "usable" && <StateMark state={stepVersionState(standing)} />}
          </span>
        );
      },
    },
    { name: texts.versions, tight: true, end: true, cell: ({ versions }) => count(versions) },
    {
      name: texts.signer,
      cell: ({ newest }) => (
        <span className={`${small} block min-w-38 wrap-anywhere`}>{newest.signer ?? texts.unsigned}</span>
      ),
    },
    {
      name: texts.seen,
      phone: true,
      tight: true,
      end: true,
      cell: ({ newest }) => {
        const seen = timeOf(newest.seenAt) ?? now;
        return (
          <span title={full(seen)} className={small}>
            {ago(seen, now)}
          </span>
        );
      },
    },
  ];
}
