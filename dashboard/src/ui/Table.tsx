// A table for wide screens that becomes a list of two-line rows on phones. The first cell of a row is its link.
import type { ReactNode } from "react";
import { cx } from "@/lib/classes";

export type Column<Row> = {
  name: string;
  cell: (row: Row) => ReactNode;
  /** Shown on phones too. At most three columns fit. */
  phone?: boolean;
  /** Has a line of its own on phones, above the others. */
  line?: boolean;
  end?: boolean;
  /** Stays in one line, such as a time. */
  tight?: boolean;
};

type Props<Row> = {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
};

export function Table<Row>({ label, columns, rows, rowKey }: Props<Row>) {
  return (
    // A wide table scrolls by itself, and not the page: also texts for screen readers, which have a position of their own.
    <div className="relative min-w-0 overflow-x-auto">
      <table aria-label={label} className="w-full border-collapse text-left">
        <thead className="max-md:sr-only">
          <tr className="border-b border-line">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={cx("px-2 py-1.5 text-12 font-bold whitespace-nowrap text-ink3", column.end && "text-right")}
              >
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className="border-b border-line hover:bg-surface max-md:flex max-md:flex-wrap max-md:items-center max-md:gap-x-3 max-md:py-2"
            >
              {columns.map((column) => (
                <td
                  key={column.name}
                  className={cx(
                    "h-row px-2 py-1 align-middle max-md:h-auto max-md:last:ml-auto",
                    column.end && "text-right",
                    column.tight && "whitespace-nowrap",
                    column.line && "max-md:w-full",
                    !column.phone && "max-md:hidden",
                  )}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Label and value, one below the other on phones. */
export function Facts({ facts }: { facts: readonly { name: string; value: ReactNode }[] }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
      {facts.map((fact) => (
        <div key={fact.name} className="contents">
          <dt className="text-13 text-ink3">{fact.name}</dt>
          <dd className="min-w-0">{fact.value}</dd>
        </div>
      ))}
    </dl>
  );
}
