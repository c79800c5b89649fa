// The head of a page: title, tally and actions; the columns of a detail page.
import type { ReactNode } from "react";

type Props = {
  title: ReactNode;
  badge?: ReactNode;
  tally?: readonly { count: number; word: string }[];
  actions?: ReactNode;
};

export function PageHead({ title, badge, tally, actions }: Props) {
  return (
    <div className="mb-3.5 flex flex-wrap items-end gap-x-4 gap-y-3">
      <h1 className="min-w-0 truncate text-28 tracking-[-0.02em] max-md:text-[24px]">{title}</h1>
      {badge}
      {tally && (
        <p className="flex flex-wrap gap-4 text-ink2 max-md:w-full">
          {tally.map(({ count, word }) => (
            <span key={word}>
              <b className="font-bold text-ink tabular-nums">{count}</b> {word}
            </span>
          ))}
        </p>
      )}
      {actions && <div className="flex flex-wrap gap-2 max-md:w-full max-md:*:flex-1 md:ml-auto">{actions}</div>}
    </div>
  );
}

type Columns = {
  /** What stands above the facts on narrow screens, where all is one column. */
  head?: ReactNode;
  main: ReactNode;
  aside: ReactNode;
};

export function DetailColumns({ head, main, aside }: Columns) {
  return (
    <div className="grid gap-6 lg:grid-cols-[minmax(0,1fr)_320px] lg:grid-rows-[auto_1fr]">
      {head && <div className="min-w-0">{head}</div>}
      <aside className="min-w-0 lg:col-start-2 lg:row-span-2 lg:row-start-1">{aside}</aside>
      <div className="min-w-0 lg:col-start-1">{main}</div>
    </div>
  );
}
