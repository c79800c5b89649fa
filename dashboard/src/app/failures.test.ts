import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterContextProvider } from "@tanstack/react-router";
import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Problem } from "@/api/problem";
import { NoOrganization, NoPage } from "./Failures";

function render(page: ReactNode): string {
  const router = createRouter({ routeTree: createRootRoute(), history: createMemoryHistory() });
  // oxlint-disable-next-line react/no-children-prop -- the type of the properties requires it
  const inRouter = createElement(RouterContextProvider, { router, children: page });
  return renderToStaticMarkup(createElement(QueryClientProvider, { client: new QueryClient() }, inRouter));
}

const noOrganization = (error: unknown) =>
  render(createElement(NoOrganization, { org: "acme", error, onRetry: () => undefined }));

test.each([
  ["an unknown address", () => render(createElement(NoPage))],
  ["an unknown organization", () => noOrganization(new Problem(404, { code: "not_found" }))],
  ["an organization that can't be read", () => noOrganization(new Problem(503, { code: "database_unavailable" }))],
])("%s has a heading and a frame", (_, page) => {
  const markup = page();
  expect(markup.match(/<h1/g)).toHaveLength(1);
  expect(markup.match(/<main/g)).toHaveLength(1);
  expect(markup).toContain("Greenroom");
});

test("an unknown organization leads to the start page", () => {
  const markup = noOrganization(new Problem(404, { code: "not_found" }));
  expect(markup).toContain("Not there, or not yours");
  expect(markup).toContain('href="/"');
});
