// The graph of stages: a column per depth, rows ordered by what they need. Pure. A definition has at most 100 stages
// and no circles; one that has them all the same is cut where the circle closes.

export type Node = { key: string; needs: readonly string[] };

export type Placed = { key: string; column: number; row: number };

export type Graph = { nodes: Placed[]; edges: { from: Placed; to: Placed }[]; columns: number; rows: number };

export function layOut(stages: readonly Node[]): Graph {
  const byKey = new Map(stages.map((stage) => [stage.key, stage]));
  const columns: Node[][] = [];
  const depths = new Map<string, number>();
  const depthOf = (key: string, path: ReadonlySet<string>): number => {
    const known = depths.get(key);
    if (known !== undefined) return known;
    const needs = (byKey.get(key)?.needs ?? []).filter((need) => byKey.has(need) && !path.has(need));
    const inner = new Set(path).add(key);
    const depth = needs.reduce((deepest, need) => Math.max(deepest, depthOf(need, inner) + 1), 0);
    depths.set(key, depth);
    return depth;
  };
  for (const stage of stages) {
    const depth = depthOf(stage.key, new Set([stage.key]));
    (columns[depth] ??= []).push(stage);
  }
  const placed = new Map<string, Placed>();
  columns.forEach((column, index) => {
    const center = ({ needs }: Node) => {
      const rows = needs.flatMap((need) => placed.get(need)?.row ?? []);
      return rows.length === 0 ? 0 : rows.reduce((sum, row) => sum + row, 0) / rows.length;
    };
    column
      .toSorted((left, right) => center(left) - center(right))
      .forEach(({ key }, row) => placed.set(key, { key, column: index, row }));
  });
  const nodes = [...placed.values()];
  const edges = stages.flatMap(({ key, needs }) => {
    const to = placed.get(key);
    return needs.flatMap((need) => {
      const from = placed.get(need);
      return from && to && from.column < to.column ? [{ from, to }] : [];
    });
  });
  return { nodes, edges, columns: columns.length, rows: Math.max(0, ...columns.map((column) => column.length)) };
}
