import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { pipelineDeploymentsQuery } from "@/api/deployment";
import { NO_COMMIT } from "./commit";
import { CommitFields } from "./CommitFields";

test("the branches of the last deployments are suggested", () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const { queryKey } = pipelineDeploymentsQuery("acme", "storefront");
  const data = [{ branch: "main" }, { branch: "fix-1" }, { branch: "main" }];
  client.setQueryData<unknown>(queryKey, { data, pagination: {} });
  const fields = createElement(CommitFields, {
    org: "acme",
    pipeline: "storefront",
    commit: NO_COMMIT,
    onChange: () => undefined,
    isTouched: false,
    problem: undefined,
  });
  const markup = renderToStaticMarkup(createElement(QueryClientProvider, { client }, fields));
  expect(markup).toMatch(/<label[^>]*>Branch<\/label>/);
  expect([...markup.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name)).toEqual(["main", "fix-1"]);
});
