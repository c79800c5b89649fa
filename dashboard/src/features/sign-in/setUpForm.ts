// What the page of the first owner shows: which of its states, and which field an error belongs to.
import { Problem } from "@/api/problem";

/** `open`: the form; also after an error that another attempt may not have. */
export type Outcome = "open" | "expired" | "taken";

export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof Problem)) return "open";
  if (error.code === "already_set_up") return "taken";
  return error.status === 401 ? "expired" : "open";
}

/** The organization's name in addresses, as the server would derive it: small letters, digits and hyphens. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 63)
    .replace(/-+$/, "");
}

const FIELDS = ["organizationName", "organizationSlug", "name", "email"] as const;

type FieldProblems = Partial<Record<(typeof FIELDS)[number], string>> & { isShown: boolean };

/** The errors of the fields. `isShown`: the problem is about one of them, so it needs no other place. */
export function fieldProblems(problem: Problem | undefined): FieldProblems {
  const found: FieldProblems = { isShown: false };
  for (const field of FIELDS) {
    const detail = problem?.field(`/${field}`);
    if (!detail) continue;
    found[field] = detail;
    found.isShown = true;
  }
  return found;
}
