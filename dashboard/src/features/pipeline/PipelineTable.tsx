// The rows of the list of pipelines.
import type { Pipeline } from "@/api/types";
import { cx } from "@/lib/classes";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { common } from "@/texts/en/common";
import { pipeline as texts } from "@/texts/en/pipeline";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { deploymentState, pipelineState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import { toneFill } from "@/ui/tone";
import { heightOf, marksOf, succeededOf } from "./status";

type Props = {
  org: string;
  pipelines: readonly Pipeline[];
  /** Why this person can't stop and resume. */
  why: string | undefined;
  busyId: string | undefined;
  onStop: (pipeline: Pipeline) => void;
  onResume: (pipeline: Pipeline) => void;
};

export function PipelineTable(props: Props) {
  return <Table label={texts.title} columns={columns(props)} rows={props.pipelines} rowKey={(row) => row.id} />;
}

function columns({ org, why, busyId, onStop, onResume }: Props): Column<Pipeline>[] {
  return [
    { name: texts.state, phone: true, cell: (row) => <StateMark state={pipelineState(row.status)} /> },
    { name: texts.name, phone: true, cell: (row) => <Name org={org} pipeline={row} /> },
    { name: texts.environments, cell: ({ environments }) => <Free environments={environments} /> },
    { name: texts.lately, cell: ({ recentDeployments }) => <Lately recent={recentDeployments ?? []} /> },
    {
      name: texts.lastDeployment,
      cell: ({ lastDeployment }) =>
        lastDeployment && (
          <Link
            to={paths.deployment(org, lastDeployment.id)}
            className="inline-flex items-center gap-2 align-middle hover:underline"
          >
            <StateMark state={deploymentState(lastDeployment)} />
            <code className="text-12 text-ink2">{shortCommit(lastDeployment.commitId)}</code>
          </Link>
        ),
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (row) =>
        row.status !== "archived" && (
          <Button
            why={why}
            busy={busyId === row.id}
            onClick={() => (row.status === "stopped" ? onResume(row) : onStop(row))}
          >
            {row.status === "stopped" ? texts.resume : texts.stop}
            <span className="sr-only"> {row.name}</span>
          </Button>
        ),
    },
  ];
}

function Name({ org, pipeline }: { org: string; pipeline: Pipeline }) {
  const note = pipeline.stop?.reason ?? pipeline.repository;
  return (
    <span className="flex max-w-[42ch] min-w-0 flex-col">
      <Link to={paths.pipeline(org, pipeline.slug)} className="font-strong hover:underline">
        {pipeline.name}
      </Link>
      {note && (
        <span className="truncate text-12 text-ink3" title={note}>
          {note}
        </span>
      )}
    </span>
  );
}

function Free({ environments }: { environments: Pipeline["environments"] }) {
  if (!environments || environments.total === 0)
    return <span className="text-13 text-ink3">{texts.noEnvironments}</span>;
  return <span className="text-13 tabular-nums">{texts.free(environments.free, environments.total)}</span>;
}

function Lately({ recent }: { recent: NonNullable<Pipeline["recentDeployments"]> }) {
  const sentence = texts.latelySentence(recent.length, succeededOf(recent));
  if (recent.length === 0) return <span className="text-13 text-ink3">{sentence}</span>;
  return (
    <span role="img" aria-label={sentence} title={sentence} className="inline-flex h-4 items-end gap-0.5 align-middle">
      {marksOf(recent).map((deployment) => {
        const { tone } = deploymentState(deployment);
        return <span key={deployment.id} className={cx("w-1 rounded-[1px]", heightOf(tone), toneFill[tone])} />;
      })}
    </span>
  );
}
