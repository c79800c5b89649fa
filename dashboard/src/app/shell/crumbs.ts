// The breadcrumbs of an address. Names that are not loaded yet are shown as they stand in the address.
import { shortId } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { shell } from "@/texts/en/shell";

/** What stands beside a breadcrumb, for its menu. */
export type Siblings =
  | { kind: "organizations" | "sections" | "settings" | "pipelines" }
  | { kind: "environments" | "lasting"; pipeline: string };

export type Crumb = { label: string; to: string; siblings?: Siblings };

const SECTIONS: Record<string, string> = {
  environments: shell.environments,
  lasting: shell.lasting,
  pipelines: shell.pipelines,
  deployments: shell.deployments,
  failures: shell.failures,
  approvals: shell.approvals,
  "step-registries": shell.stepRegistries,
  steps: shell.steps,
  runners: shell.runners,
  settings: shell.settings,
  general: shell.general,
  members: shell.members,
  "api-tokens": shell.apiTokens,
  secrets: shell.secrets,
  freezes: shell.freezes,
  forges: shell.forges,
  analysis: shell.analysis,
  groups: shell.groups,
  "service-accounts": shell.serviceAccounts,
};

const NAMED: Record<string, Named> = { pipelines: "pipeline", "step-registries": "registry" };

/** The pipeline that an address belongs to, as it stands there. */
export function pipelineOf(pathname: string): string | undefined {
  const [prefix, , section, pipeline] = pathname.split("/").filter(Boolean).map(decode);
  return prefix === "o" && section === "pipelines" ? pipeline : undefined;
}

/** The id of the step registry that an address belongs to. */
export function registryOf(pathname: string): string | undefined {
  const [prefix, , section, registry] = pathname.split("/").filter(Boolean).map(decode);
  return prefix === "o" && section === "step-registries" ? registry : undefined;
}

/** What an address names by a slug or an id, and a breadcrumb by its name. */
export type Named = "org" | "pipeline" | "registry";

/** `name` returns the name of an organization, a pipeline or a registry, if it is known. */
export function crumbsOf(pathname: string, name: (kind: Named, slug: string) => string | undefined): Crumb[] {
  const [prefix, org, ...rest] = pathname.split("/").filter(Boolean).map(decode);
  if (prefix !== "o" || org === undefined) return [];
  const home: Crumb = {
    label: name("org", org) ?? org,
    to: paths.home(org),
    siblings: { kind: "organizations" },
  };
  const crumbs: Crumb[] = [home];
  let to = paths.home(org);
  rest.forEach((part, index) => {
    to += `/${encodeURIComponent(part)}`;
    const kind = index === 1 ? NAMED[rest[0] ?? ""] : undefined;
    const label = index % 2 === 0 || rest[0] === "settings" ? (SECTIONS[part] ?? shortId(part)) : shortId(part);
    const siblings = siblingsOf(rest, index);
    crumbs.push({ label: (kind && name(kind, part)) ?? label, to, siblings });
  });
  return crumbs.map((crumb) => ({ ...crumb, to: pageOf(crumb.to) }));
}

/** These have no page of their own: a pipeline's page lists its environments, an environment's its sessions, a registry's
 * its steps. */
function pageOf(to: string): string {
  return to
    .replace(/(\/pipelines\/[^/]+)\/environments$/, "$1")
    .replace(/(\/o\/[^/]+)\/pipelines\/([^/]+)\/lasting$/, "$1/lasting?pipeline=$2")
    .replace(/(\/environments\/[^/]+)\/sessions$/, "$1")
    .replace(/(\/step-registries\/[^/]+)\/steps$/, "$1")
    .replace(/\/settings$/, "/settings/general");
}

function siblingsOf([section, pipeline, kind]: readonly string[], index: number): Siblings | undefined {
  if (index === 0) return { kind: "sections" };
  if (section === "settings" && index === 1) return { kind: "settings" };
  if (section !== "pipelines" || pipeline === undefined) return undefined;
  if (index === 1) return { kind: "pipelines" };
  if (index !== 3) return undefined;
  return { kind: kind === "lasting" ? "lasting" : "environments", pipeline };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
