// The stages as a graph on wide screens, as a list on phones. Nodes are links.
import type { Stage } from "@/api/types";
import { cx } from "@/lib/classes";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { deployment as texts } from "@/texts/en/deployments";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { workState } from "@/ui/state";
import { layOut, type Placed } from "./graph";
import { spanText, stageSpan } from "./span";

const WIDTH = 180;
const HEIGHT = 44;
const GAP_X = 40;
const GAP_Y = 8;

type Props = { org: string; deployment: string; stages: readonly Stage[]; current: string | undefined };

const left = ({ column }: Placed) => column * (WIDTH + GAP_X);
const top = ({ row }: Placed) => row * (HEIGHT + GAP_Y);

export function StageGraph({ org, deployment, stages, current }: Props) {
  const graph = layOut(stages);
  const byKey = new Map(stages.map((stage) => [stage.key, stage]));
  const width = graph.columns * (WIDTH + GAP_X) - GAP_X;
  const height = graph.rows * (HEIGHT + GAP_Y) - GAP_Y;
  const link = (stage: Stage) => (
    <StageLink
      to={paths.deployment(org, deployment, { stage: stage.key })}
      stage={stage}
      isCurrent={stage.key === current}
    />
  );
  return (
    <nav aria-label={texts.stages} className="mb-6">
      <ul className="flex flex-col gap-1 md:hidden">
        {stages.map((stage) => (
          <li key={stage.key}>{link(stage)}</li>
        ))}
      </ul>
      <div className="overflow-x-auto max-md:hidden">
        <div className="relative" style={{ width, height }}>
          <svg aria-hidden="true" width={width} height={height} className="absolute inset-0 text-control">
            {graph.edges.map(({ from, to }) => (
              <path
                key={`${from.key}>${to.key}`}
                d={curve(from, to)}
                fill="none"
                stroke="currentColor"
                strokeWidth="1.5"
              />
            ))}
          </svg>
          {graph.nodes.map((node) => {
            const stage = byKey.get(node.key);
            return (
              stage && (
                <div
                  key={node.key}
                  className="absolute"
                  style={{ left: left(node), top: top(node), width: WIDTH, height: HEIGHT }}
                >
                  {link(stage)}
                </div>
              )
            );
          })}
        </div>
      </div>
    </nav>
  );
}

function curve(from: Placed, to: Placed): string {
  const [x1, y1] = [left(from) + WIDTH, top(from) + HEIGHT / 2];
  const [x2, y2] = [left(to), top(to) + HEIGHT / 2];
  const middle = x2 - GAP_X / 2;
  return `M${x1} ${y1}H${middle - 8}C${middle} ${y1} ${middle} ${y2} ${middle + 8} ${y2}H${x2}`;
}

function StageLink({ to, stage, isCurrent }: { to: string; stage: Stage; isCurrent: boolean }) {
  return (
    <Link
      to={to}
      aria-current={isCurrent ? "true" : undefined}
      className={cx(
        "flex h-11 items-center gap-2 rounded-6 border bg-raised px-2.5",
        isCurrent ? "border-ink" : "border-line hover:border-control",
      )}
    >
      <span className="min-w-0 flex-1 truncate">
        <StateMark state={workState(stage.status)} word={stage.name} />
        <span className="sr-only">, {workState(stage.status).word}</span>
      </span>
      <Took stage={stage} />
    </Link>
  );
}

function Took({ stage }: { stage: Stage }) {
  const now = useNow("second");
  return <span className="font-mono text-12 text-ink3">{spanText(stageSpan(stage), now)}</span>;
}
