// The environments of a board as cards or as rows.
import { Suspense } from "react";
import { lazily } from "@/lib/lazily";
import type { BoardView } from "@/lib/preferences";
import { SkeletonRows } from "@/ui/Skeleton";
import type { Verb } from "./actions";
import { EnvironmentCard } from "./EnvironmentCard";
import { looksOf, MAX_CARDS } from "./layout";
import { idOf, type Shown, type Viewer } from "./view";

const ManyDoors = lazily(() => import("./ManyDoors"), "ManyDoors");

export type DoorsProps = {
  org: string;
  /** Left out on the board of all pipelines. */
  pipeline?: string;
  environments: readonly Shown[];
  viewer: Viewer;
  view: BoardView;
  busyEnv: string | undefined;
  onAct: (verb: Verb, env: string) => void;
  onExpired: (env: string) => void;
};

export function Doors(props: DoorsProps) {
  const { view, environments } = props;
  const isPlain = looksOf(view, environments.length) === "cards" && environments.length <= MAX_CARDS;
  if (isPlain) return <Cards {...props} />;
  return (
    <Suspense fallback={<SkeletonRows rows={12} />}>
      <ManyDoors {...props} />
    </Suspense>
  );
}

function Cards(props: DoorsProps) {
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(300px,1fr))] gap-3 max-md:grid-cols-1 max-md:gap-2.5">
      {props.environments.map((environment) => (
        <EnvironmentCard key={idOf(environment)} {...doorOf(props, environment)} />
      ))}
    </div>
  );
}

/** What a card or a row needs. All of it stays the same while its environment does, so that it is not rendered again. */
export function doorOf({ org, pipeline, viewer, busyEnv, onAct, onExpired }: DoorsProps, environment: Shown) {
  const busy = busyEnv === idOf(environment);
  return { org, pipeline: pipeline ?? environment.pipeline ?? "", environment, viewer, busy, onAct, onExpired };
}
