// Parses the unified diffs of two versions of a step: which files differ, and the changed lines of step.yaml. Pure.

export type FileChange = {
  path: string;
  kind: "added" | "removed" | "changed";
  /** The modes, if they differ. */
  mode?: { before: string; after: string };
};

/** A line of a list of files, as `git ls-tree` has it: mode, path and SHA-256. */
const FILE = /^([+-])(\d{6}) (.+) ([0-9a-f]{64})$/;

/** Reads the unified diff of two lists of files. */
export function fileChanges(diff: string): FileChange[] {
  const before = new Map<string, string>();
  const after = new Map<string, string>();
  for (const line of diff.split("\n")) {
    const [, sign, mode, path] = FILE.exec(line) ?? [];
    if (mode && path) (sign === "+" ? after : before).set(path, mode);
  }
  const all = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return all.map((path) => {
    const [old, next] = [before.get(path), after.get(path)];
    if (old === undefined) return { path, kind: "added" };
    if (next === undefined) return { path, kind: "removed" };
    return { path, kind: "changed", ...(old === next ? {} : { mode: { before: old, after: next } }) };
  });
}

export type DiffLine = { kind: "added" | "removed" | "same" | "place"; text: string };

/** The lines of a unified diff, without its head. `place` is where the next lines are. */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const start = lines.findIndex((line) => line.startsWith("@@"));
  return lines.slice(Math.max(0, start)).map((line) => {
    if (line.startsWith("@@")) return { kind: "place", text: line };
    if (line.startsWith("+")) return { kind: "added", text: line.slice(1) };
    if (line.startsWith("-")) return { kind: "removed", text: line.slice(1) };
    return { kind: "same", text: line.slice(1) };
  });
}
