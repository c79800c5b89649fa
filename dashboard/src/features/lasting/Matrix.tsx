// Pipelines × environments: a table on wide screens, one card for each pipeline on phones.
import { cx } from "@/lib/classes";
import { paths } from "@/lib/paths";
import { lasting as texts } from "@/texts/en/lasting";
import { Link } from "@/ui/Link";
import { Cell } from "./Cell";
import type { Row } from "./matrix";

type Props = {
  org: string;
  rows: readonly Row[];
  columns: readonly string[];
  nameOf: (row: Row) => string;
  now: number;
};

export function Matrix({ org, rows, columns, nameOf, now }: Props) {
  return (
    <div className="relative min-w-0 overflow-x-auto">
      <table aria-label={texts.title} className="w-full border-collapse text-left max-md:block">
        <thead className="max-md:sr-only">
          <tr className="border-b border-line">
            {[texts.pipeline, ...columns].map((name, index) => (
              <th
                key={`${index} ${name}`}
                scope="col"
                className={cx(
                  "py-1.5 pr-4 pl-2 text-12 whitespace-nowrap",
                  index === 0 ? "font-bold text-ink3" : "font-title text-ink",
                )}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-md:flex max-md:flex-col max-md:gap-3">
          {rows.map((row) => (
            <tr
              key={row.pipelineId}
              className="max-md:door border-line max-md:flex max-md:flex-col max-md:gap-2 max-md:border max-md:bg-raised max-md:p-3.5 md:border-b"
            >
              <th scope="row" className="py-2.5 pr-4 pl-2 align-top font-strong max-md:p-0 md:w-52 md:min-w-36">
                <Link
                  to={paths.pipeline(org, row.slug)}
                  className="wrap-anywhere hover:underline max-md:font-title max-md:text-20"
                >
                  {nameOf(row)}
                </Link>
              </th>
              {columns.map((name) => {
                const environment = row.cells.get(name);
                return (
                  <td
                    key={name}
                    className={cx(
                      "min-w-44 py-2.5 pr-4 pl-2 align-top max-md:min-w-0 max-md:border-t max-md:border-line max-md:px-0 max-md:pt-2 max-md:pb-0",
                      !environment && "max-md:hidden",
                    )}
                  >
                    {environment ? (
                      <Cell org={org} environment={environment} now={now} />
                    ) : (
                      <span aria-hidden className="text-ink3">
                        –
                      </span>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
