// No page reads the same twice while it loads: what the event stream would repeat is read after the stream's beginning is known.
import type { Page } from "@playwright/test";
import { Api, createPipeline, createReleasePipeline, environmentsOf, type TestPipeline } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { stackOf } from "./support/stack";

/** A read that the start of the stream repeats begins within this time, at most an interval of the cache later. */
const QUIET = 2_500;

/** The stream connects and stays empty: an event of somebody else makes reads stale, which are read again then rightly. */
function keepStreamEmpty(): void {
  const real = window.fetch;
  window.fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.includes("/events/stream")) return real(input, init);
    const start = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new TextEncoder().encode(": \n\n"));
    const headers = { "Content-Type": "text/event-stream" };
    return Promise.resolve(new Response(new ReadableStream({ start }), { headers }));
  };
}

let board: TestPipeline;
let release: TestPipeline;

test.beforeAll(async () => {
  const api = new Api(stackOf());
  board = await createPipeline(api, environmentsOf(["qa-1", "qa-2"]));
  release = await createReleasePipeline(api);
});

/** The addresses of all reads of the API while a page loads. Probes of the server repeat by design. */
async function readsWhile(page: Page, load: () => Promise<unknown>): Promise<string[]> {
  const reads: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (request.method() === "GET" && pathname.startsWith("/api/v1/")) reads.push(pathname + search);
  });
  await load();
  await settled(page);
  await expect(page.getByText("Live", { exact: true }).first()).toBeVisible();
  await page.waitForTimeout(QUIET);
  return reads;
}

const at = `/o/${stackOf().org}`;
const PAGES: [name: string, path: () => string][] = [
  ["home", () => at],
  ["pipelines", () => `${at}/pipelines`],
  ["board", () => `${at}/pipelines/${board.slug}`],
  ["environment", () => `${at}/pipelines/${board.slug}/environments/qa-1`],
  ["environments", () => `${at}/environments`],
  ["deployments", () => `${at}/deployments`],
  ["failures", () => `${at}/failures`],
  ["approvals", () => `${at}/approvals`],
  ["lasting environments", () => `${at}/lasting`],
  ["lasting environment", () => `${at}/pipelines/${release.slug}/lasting/production`],
  ["members", () => `${at}/settings/members`],
];

for (const [name, path] of PAGES) {
  test(`${name}: nothing is read twice`, async ({ open }) => {
    // A page without reads, so that the script is there before the page that is looked at.
    const page = await open("developer", "/dev/ui");
    await page.addInitScript(keepStreamEmpty);
    const reads = await readsWhile(page, () => page.goto(path()));
    expect(reads.length, "reads").toBeGreaterThan(2);
    expect(reads.filter((read, index) => reads.indexOf(read) !== index)).toEqual([]);
  });
}
