// Leads through the pages of a list that the server divides.
import { common } from "@/texts/en/common";
import { Button } from "./Button";

type Props = { offset: number; limit: number; total: number; onGo: (offset: number) => void };

export function Pager({ offset, limit, total, onGo }: Props) {
  if (total <= limit && offset === 0) return null;
  const last = Math.min(total, offset + limit);
  return (
    <nav aria-label={common.pages} className="mt-4 flex flex-wrap items-center gap-2">
      <Button why={offset > 0 ? undefined : common.firstPage} onClick={() => onGo(Math.max(0, offset - limit))}>
        {common.previousPage}
      </Button>
      <Button why={last < total ? undefined : common.lastPage} onClick={() => onGo(offset + limit)}>
        {common.nextPage}
      </Button>
      <span className="text-13 text-ink2 tabular-nums">{common.pageOf(Math.min(offset + 1, total), last, total)}</span>
    </nav>
  );
}
