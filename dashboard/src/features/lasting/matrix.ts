// Lasting environments as a table: one row for each pipeline, one column for each name. Pure.
import type { LastingEnvironment } from "@/api/types";

export type Row = { pipelineId: string; slug: string; cells: ReadonlyMap<string, LastingEnvironment> };

/** The rows in the order of the list, which is sorted by pipeline. */
export function rowsOf(environments: readonly LastingEnvironment[]): Row[] {
  const rows = new Map<string, Row & { cells: Map<string, LastingEnvironment> }>();
  for (const environment of environments) {
    const { pipelineId, pipelineSlug: slug } = environment;
    const row = rows.get(pipelineId) ?? { pipelineId, slug, cells: new Map() };
    row.cells.set(environment.name, environment);
    rows.set(pipelineId, row);
  }
  return [...rows.values()];
}

/**
 * The names of all columns. Definitions list staging before production, and this order is kept; of names without an
 * order between them, those that lead to what most pipelines have come first.
 */
export function columnsOf(rows: readonly Row[]): string[] {
  const counts = new Map<string, number>();
  const followers = new Map<string, Set<string>>();
  for (const { cells } of rows) {
    let previous: string | undefined;
    for (const name of cells.keys()) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      if (previous !== undefined) followers.set(previous, (followers.get(previous) ?? new Set()).add(name));
      previous = name;
    }
  }
  const left = new Set(counts.keys());
  const weights = new Map([...left].map((name) => [name, weightOf(name, counts, followers)]));
  const columns: string[] = [];
  while (left.size > 0) {
    const isFirst = (name: string) => ![...left].some((other) => followers.get(other)?.has(name));
    // Two definitions with opposite orders contradict each other; then any of the names can be next.
    const free = [...left].filter(isFirst);
    const [next] = (free.length > 0 ? free : [...left]).toSorted(
      (a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0) || a.localeCompare(b, "en"),
    );
    if (next === undefined) break;
    columns.push(next);
    left.delete(next);
  }
  return columns;
}

/** How many pipelines have this name, or one that follows it. */
function weightOf(name: string, counts: ReadonlyMap<string, number>, followers: ReadonlyMap<string, Set<string>>) {
  const seen = new Set([name]);
  for (const reached of seen) for (const next of followers.get(reached) ?? []) seen.add(next);
  return Math.max(...[...seen].map((reached) => counts.get(reached) ?? 0));
}
