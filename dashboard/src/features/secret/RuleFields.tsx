// The rules of a secret in a form.
import { useQuery } from "@tanstack/react-query";
import { pipelinesQuery } from "@/api/pipeline";
import type { Problem } from "@/api/problem";
import type { Secret } from "@/api/types";
import { secret as texts } from "@/texts/en/secret";
import { CodeField } from "@/ui/Field";
import { Ticks } from "@/ui/Ticks";
import type { Rules } from "./form";

type Props = {
  org: string;
  scope: Secret["scope"];
  rules: Rules;
  /** The platform fetches repositories with it. */
  isCheckout: boolean;
  lacksPipelines: boolean;
  lacksRepositories?: boolean;
  problem: Problem | undefined;
  onChange: (rules: Rules) => void;
};

export function RuleFields(props: Props) {
  const { org, scope, rules, isCheckout, lacksPipelines, lacksRepositories, problem, onChange } = props;
  const pipelines = useQuery({ ...pipelinesQuery(org), enabled: scope === "organization" });
  const field = (rule: "environments" | "branches" | "pools" | "repositories", hint?: string, mistake?: string) => (
    <CodeField
      label={texts.policy[rule]}
      hint={hint}
      error={mistake ?? problem?.field(`/policy/${rule}`)}
      value={rules[rule]}
      onChange={(event) => onChange({ ...rules, [rule]: event.target.value })}
    />
  );
  return (
    <fieldset className="flex flex-col gap-3 rounded-6 border border-line p-3">
      <legend className="px-1 text-13 font-strong">{texts.rules}</legend>
      <p className="text-13 text-ink3">{texts.rulesHint}</p>
      {scope === "organization" && (
        <Ticks
          legend={texts.policy.pipelines}
          error={lacksPipelines ? texts.mistakes.pipelines : problem?.field("/policy/pipelines")}
          ticks={(pipelines.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          values={rules.pipelines}
          onChange={(chosen) => onChange({ ...rules, pipelines: chosen })}
        />
      )}
      {isCheckout &&
        field(
          "repositories",
          texts.repositoriesHint,
          lacksRepositories ? texts.mistakes.repositories : problem && repositoryRefusal(problem),
        )}
      {scope !== "environment" && field("environments", texts.environmentsHint)}
      {field("branches", texts.branchesHint)}
      {field("pools")}
    </fieldset>
  );
}

/** The server's problem of one repository. */
function repositoryRefusal(problem: Problem): string | undefined {
  return problem.fields.find(({ pointer }) => pointer?.startsWith("/policy/repositories/"))?.detail;
}
