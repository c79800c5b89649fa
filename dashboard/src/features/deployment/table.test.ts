import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { Deployment } from "@/api/types";
import { deployments as texts } from "@/texts/en/deployments";
import { columns } from "./DeploymentTable";

function render(column: string, more: Partial<Deployment>): string {
  const row = { id: "dep_1", pipeline: "storefront", commitId: "9f3c2a1b7d", ...more } as Deployment;
  const found = columns("acme", 0).find(({ name }) => name === column);
  return renderToStaticMarkup(found?.cell(row));
}

test("a teardown is marked", () => {
  expect(render(texts.commit, { purpose: "teardown", envName: "load-2" })).toContain("Teardown");
  expect(render(texts.commit, { purpose: "session", envName: "load-2" })).not.toContain("Teardown");
});

test("a deployment of a whole pipeline has the pipeline's name also where the column of pipelines is hidden", () => {
  const markup = render(texts.environment, { purpose: "pipeline", envName: null });
  expect(markup).toMatch(/md:hidden">storefront, <\/span>whole pipeline/);
});
