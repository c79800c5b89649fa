// The rules of a secret as text: which stages get it.
import type { Secret } from "@/api/types";
import { shortId } from "@/lib/ids";
import { secret as texts } from "@/texts/en/secret";
import { isForAllRepositories } from "./form";

/** Returns the name of a pipeline by its id. */
export type NameOf = (pipelineId: string) => string;

export function nameOfPipelines(pipelines: readonly { id: string; name: string }[] | undefined): NameOf {
  return (id) => pipelines?.find((pipeline) => pipeline.id === id)?.name ?? shortId(id);
}

export function scopeText({ pipelineId, environment }: Secret, nameOf: NameOf): string {
  if (!pipelineId) return texts.organization;
  return environment ? texts.inEnvironment(nameOf(pipelineId), environment) : nameOf(pipelineId);
}

const RULES = ["pipelines", "environments", "branches", "pools", "repositories"] as const;

export function Rules({ secret, nameOf }: { secret: Secret; nameOf: NameOf }) {
  const { policy, use } = secret;
  const rules = RULES.flatMap((rule) => {
    const names = policy[rule];
    return names ? [{ rule, names: rule === "pipelines" ? names.map(nameOf) : names }] : [];
  });
  if (rules.length === 0 && !use) return <span className="text-13 text-ink3">{texts.noRules}</span>;
  return (
    <ul className="text-13 text-ink2">
      {use && (
        <li>
          {texts.uses[use.kind] ?? use.kind} <code className="text-12 break-all">{use.host}</code>
        </li>
      )}
      {rules.map(({ rule, names }) => (
        <li key={rule} className="wrap-anywhere">
          <span className="text-ink3">{texts.policy[rule]}</span> {names.join(", ")}
        </li>
      ))}
      {isForAllRepositories(secret) && <li className="text-amber">{texts.allRepositories}</li>}
    </ul>
  );
}
