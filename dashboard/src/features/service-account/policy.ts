// The form of a trust policy: what each CI system begins with, the request, and mistakes. Pure.
import type { NewTrustPolicy } from "@/api/trustPolicy";

export type CiSystem = "github" | "gitlab" | "buildkite" | "forgejo" | "other";
export type Claim = { name: string; value: string };

export type PolicyForm = {
  name: string;
  system: CiSystem;
  issuer: string;
  audience: string;
  claims: readonly Claim[];
  pipelines: readonly string[];
  lifetime: string;
};

export const LIFETIMES = ["300", "900", "1800", "3600"] as const;

/** The issuer, and the claims that the server asks for: an id that never changes, and what of it is trusted. */
const SYSTEMS: Record<CiSystem, { issuer: string; claims: readonly string[] }> = {
  github: { issuer: "https://token.actions.githubusercontent.com", claims: ["repository_id", "ref"] },
  gitlab: { issuer: "https://gitlab.com", claims: ["project_id", "ref_path"] },
  buildkite: { issuer: "https://agent.buildkite.com", claims: ["pipeline_id", "build_branch"] },
  forgejo: { issuer: "", claims: ["repository_id", "ref"] },
  other: { issuer: "", claims: ["sub"] },
};

export const CI_SYSTEMS = Object.keys(SYSTEMS) as CiSystem[];

/** The form for a system. What does not depend on it stays. */
export function policyOf(system: CiSystem, old?: PolicyForm): PolicyForm {
  const { issuer, claims } = SYSTEMS[system];
  const base = { name: "", audience: "", pipelines: [], lifetime: "900", ...old };
  return { ...base, system, issuer, claims: claims.map((name) => ({ name, value: "" })) };
}

export type Mistake = "name" | "issuer" | "claims" | "claimTwice" | "pipelines";

export function mistakesOf(form: PolicyForm): Mistake[] {
  const names = form.claims.map(({ name }) => name.trim());
  const isEmpty = form.claims.some(({ name, value }) => name.trim() === "" || value.trim() === "");
  const mistakes: [Mistake, boolean][] = [
    ["name", form.name.trim() === ""],
    ["issuer", !/^https:\/\/[^/\s]+/.test(form.issuer.trim())],
    ["claims", form.claims.length === 0 || isEmpty],
    ["claimTwice", new Set(names).size < names.length],
    ["pipelines", form.pipelines.length === 0],
  ];
  return mistakes.filter(([, isMade]) => isMade).map(([mistake]) => mistake);
}

export function requestOf(form: PolicyForm): NewTrustPolicy {
  return {
    name: form.name.trim(),
    issuer: form.issuer.trim(),
    audience: form.audience.trim() || undefined,
    claims: Object.fromEntries(form.claims.map(({ name, value }) => [name.trim(), value.trim()])),
    pipelines: [...form.pipelines],
    ttlSeconds: Number(form.lifetime),
  };
}
