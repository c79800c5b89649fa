// Changes of one environment in all cached lists that contain it, for the results of own actions.
import type { QueryClient } from "@tanstack/react-query";
import { namesOf } from "@/api/aliases";
import type { EnvironmentPage } from "@/api/environment";
import { keys } from "@/api/keys";
import type { Environment } from "@/api/types";

type Target = { org: string; pipeline: string; env: string };

export function updateEnvironment(
  queries: QueryClient,
  { org, pipeline, env }: Target,
  change: (environment: Environment) => Environment,
): void {
  for (const name of namesOf(pipeline)) {
    queries.setQueryData<Environment[]>(keys.environments(org, name), (list) =>
      list?.map((environment) => (environment.envName === env ? change(environment) : environment)),
    );
  }
  queries.setQueriesData<EnvironmentPage>({ queryKey: keys.allEnvironments(org) }, (page) => {
    if (!page) return page;
    const data = page.data.map((environment) => {
      const isIt = environment.envName === env && [environment.pipeline, environment.pipelineId].includes(pipeline);
      return isIt ? { ...environment, ...change(environment) } : environment;
    });
    return { ...page, data };
  });
}
