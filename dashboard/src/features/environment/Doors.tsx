// The environments of a board as cards or as rows. Those that are not on the screen are not rendered.
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import type { BoardView } from "@/lib/preferences";
import type { Verb } from "./actions";
import { EnvironmentCard } from "./EnvironmentCard";
import { EnvironmentRow, ROW_HEIGHT } from "./EnvironmentRow";
import { CARD_GAP, CARD_HEIGHT, columnsOf, linesOf, looksOf, MAX_CARDS } from "./layout";
import { idOf, type Shown, type Viewer } from "./view";

type Props = {
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

export function Doors(props: Props) {
  const { view, environments } = props;
  if (looksOf(view, environments.length) === "rows") return <Rows {...props} />;
  return environments.length > MAX_CARDS ? <ManyCards {...props} /> : <Cards {...props} />;
}

function Cards(props: Props) {
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(300px,1fr))] gap-3 max-md:grid-cols-1 max-md:gap-2.5">
      {props.environments.map((environment) => (
        <EnvironmentCard key={idOf(environment)} {...doorOf(props, environment)} />
      ))}
    </div>
  );
}

/** More cards than a plain grid can hold: only the lines of the grid that are on the screen are rendered. */
function ManyCards(props: Props) {
  const list = useRef<HTMLDivElement>(null);
  const columns = useColumns(list);
  const lines = linesOf(props.environments, columns);
  const virtual = useWindowVirtualizer({
    count: lines.length,
    estimateSize: () => CARD_HEIGHT + CARD_GAP,
    overscan: 3,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  return (
    <div ref={list} className="relative" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => (
        <div
          key={item.key}
          ref={virtual.measureElement}
          data-index={item.index}
          className="absolute inset-x-0 top-0 grid gap-3 pb-3"
          style={{
            transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
            gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
          }}
        >
          {lines[item.index]?.map((environment) => (
            <EnvironmentCard key={idOf(environment)} {...doorOf(props, environment)} />
          ))}
        </div>
      ))}
    </div>
  );
}

function useColumns(list: RefObject<HTMLDivElement | null>): number {
  const [columns, setColumns] = useState(1);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const measure = () => setColumns(columnsOf(element.clientWidth));
    measure();
    const size = new ResizeObserver(measure);
    size.observe(element);
    return () => size.disconnect();
  }, [list]);
  return columns;
}

function Rows(props: Props) {
  const { environments } = props;
  const list = useRef<HTMLDivElement>(null);
  const rows = useWindowVirtualizer({
    count: environments.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
    scrollMargin: list.current?.offsetTop ?? 0,
    getItemKey: (index) => {
      const environment = environments[index];
      return environment ? idOf(environment) : index;
    },
  });
  return (
    <div ref={list} role="list" className="relative" style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map((item) => {
        const environment = environments[item.index];
        if (!environment) return null;
        return (
          <div
            key={item.key}
            role="listitem"
            aria-posinset={item.index + 1}
            aria-setsize={environments.length}
            className="absolute inset-x-0 top-0"
            style={{ transform: `translateY(${item.start - rows.options.scrollMargin}px)` }}
          >
            <EnvironmentRow {...doorOf(props, environment)} />
          </div>
        );
      })}
    </div>
  );
}

/** What a card or a row needs. All of it stays the same while its environment does, so that it is not rendered again. */
function doorOf({ org, pipeline, viewer, busyEnv, onAct, onExpired }: Props, environment: Shown) {
  const busy = busyEnv === idOf(environment);
  return { org, pipeline: pipeline ?? environment.pipeline ?? "", environment, viewer, busy, onAct, onExpired };
}
