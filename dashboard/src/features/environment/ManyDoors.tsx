// Many environments, as cards or as rows: only those that are on the screen are rendered. Loaded when a board has that many.
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import { doorOf, type DoorsProps } from "./Doors";
import { EnvironmentCard } from "./EnvironmentCard";
import { EnvironmentRow, ROW_HEIGHT } from "./EnvironmentRow";
import { CARD_GAP, CARD_HEIGHT, columnsOf, linesOf, looksOf } from "./layout";
import { idOf } from "./view";

export function ManyDoors(props: DoorsProps) {
  return looksOf(props.view, props.environments.length) === "rows" ? <Rows {...props} /> : <ManyCards {...props} />;
}

/** More cards than a plain grid can hold: only the lines of the grid that are on the screen are rendered. */
function ManyCards(props: DoorsProps) {
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

function Rows(props: DoorsProps) {
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
