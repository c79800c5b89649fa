// The list of registries.
import { useQuery } from "@tanstack/react-query";
import { registryStepsQuery } from "@/api/registryStep";
import type { StepRegistry } from "@/api/types";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { count } from "@/texts/en/number";
import { registry as texts } from "@/texts/en/stepRegistry";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { registryState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import { Quoted, sentence } from "./Quoted";
import { problemsOf } from "./refusals";
import { SyncState } from "./SyncState";

export function RegistryTable({ org, registries }: { org: string; registries: readonly StepRegistry[] }) {
  const now = useNow("half-minute");
  return <Table label={texts.title} columns={columns(org, now)} rows={registries} rowKey={({ id }) => id} />;
}

function columns(org: string, now: number): Column<StepRegistry>[] {
  return [
    {
      name: texts.name,
      phone: true,
      line: true,
      cell: (registry) => (
        <span className="flex flex-col py-1">
          <Link to={paths.stepRegistry(org, registry.id)} className="font-strong wrap-anywhere hover:underline">
            {registry.name}
          </Link>
          <span className="text-13 wrap-anywhere text-ink3">{registry.url}</span>
          <FirstProblem registry={registry} />
        </span>
      ),
    },
    {
      name: texts.state,
      phone: true,
      tight: true,
      cell: ({ status }) => <StateMark state={registryState(status)} />,
    },
    { name: texts.synced, phone: true, tight: true, cell: (registry) => <SyncState registry={registry} now={now} /> },
    { name: texts.steps, phone: true, tight: true, end: true, cell: ({ id }) => <StepCount org={org} registry={id} /> },
  ];
}

/** The server's text says what to do about it. The page of the registry has all of them. */
function FirstProblem({ registry }: { registry: StepRegistry }) {
  const [first, ...others] = problemsOf(registry);
  if (!first) return null;
  return (
    <span className="mt-1 max-w-prose text-13 wrap-anywhere text-amber">
      {first.tag && <code className="text-12">{first.tag}: </code>}
      <Quoted text={first.tag ? first.text : sentence(first.text)} />
      {others.length > 0 && ` ${texts.others(others.length)}`}
    </span>
  );
}

/** The API counts steps by registry only, so each row requests its own. */
function StepCount({ org, registry }: { org: string; registry: string }) {
  const steps = useQuery(registryStepsQuery(org, registry, 0, 1));
  if (!steps.data) return <span className="text-13 text-ink3">{texts.notCounted}</span>;
  const { total } = steps.data.pagination;
  return (
    <span className="text-13 text-ink2 tabular-nums">
      <span className="max-md:hidden">{count(total)}</span>
      <span className="md:hidden">{texts.stepCount(total)}</span>
    </span>
  );
}
