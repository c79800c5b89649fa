// What stands in for data that is loading. It appears after 150 ms and has the size of what it stands for.
import { cx } from "@/lib/classes";
import { common } from "@/texts/en/common";

export function Skeleton({ className }: { className?: string }) {
  return (
    <span
      aria-hidden
      data-skeleton
      className={cx("appear-late block rounded-4 bg-sunken", className ?? "h-5 w-full")}
    />
  );
}

export function SkeletonRows({ rows = 5 }: { rows?: number }) {
  return (
    <div role="status" aria-label={common.loading} className="flex flex-col gap-2">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} className="h-row w-full" />
      ))}
    </div>
  );
}

export function SkeletonCards({ cards = 6 }: { cards?: number }) {
  return (
    <div
      role="status"
      aria-label={common.loading}
      className="grid grid-cols-[repeat(auto-fill,minmax(300px,1fr))] gap-3 max-md:grid-cols-1"
    >
      {Array.from({ length: cards }, (_, index) => (
        <Skeleton key={index} className="door h-[219px] w-full" />
      ))}
    </div>
  );
}
