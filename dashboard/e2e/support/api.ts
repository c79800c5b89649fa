// Requests to the API, for what a test needs before it starts and for what another person does meanwhile.
import { randomUUID } from "node:crypto";
import type { Person, Stack } from "./stack";

/** The slugs of the tests' pipelines, and the names of their secrets, start with it. */
export const PIPELINE_PREFIX = "ui-";

export type Json = Record<string, unknown>;

export class Api {
  readonly #stack: Stack;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  /** Sends a request below the organization and returns `data`; throws if it fails. */
  async send<Data = Json>(person: Person, method: string, path: string, body?: unknown): Promise<Data> {
    const response = await this.request(person, method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: Data }).data;
  }

  request(person: Person, method: string, path: string, body?: unknown): Promise<Response> {
    const { api, org, tokens } = this.#stack;
    const headers: Record<string, string> = { Authorization: `Bearer ${tokens[person]}` };
    if (method !== "GET") headers["Idempotency-Key"] = randomUUID();
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(`${api}/organizations/${org}${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  get<Data = Json>(path: string, person: Person = "owner"): Promise<Data> {
    return this.send<Data>(person, "GET", path);
  }
}

export type Session = { sessionId: string; envName: string; status: string };

/** One pipeline with environments of its own, so that no test disturbs another one or the demo. */
export class TestPipeline {
  readonly api: Api;
  readonly slug: string;

  constructor(api: Api, slug: string) {
    this.api = api;
    this.slug = slug;
  }

  environment(env: string): string {
    return `/pipelines/${this.slug}/ephemeral-environments/${env}`;
  }

  claim(person: Person, env: string, body: Json = {}): Promise<Session> {
    return this.api.send<Session>(person, "POST", `${this.environment(env)}/sessions`, body);
  }

  /** Ends what holds the environment, if anything does. */
  async free(env: string): Promise<void> {
    const { lock } = await this.api.get<{ lock: { sessionId?: string } }>(this.environment(env));
    if (lock.sessionId)
      await this.api.request("owner", "DELETE", `${this.environment(env)}/sessions/${lock.sessionId}`);
  }
}

/** `run` is what the deploy stage of a session prints. */
export async function createPipeline(
  api: Api,
  environments: string,
  run = 'echo "rolling out"',
): Promise<TestPipeline> {
  const slug = `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
  const definition = `version: 1
runner:
  pool: default
ephemeralEnvironments:
${environments}
stages:
  build:
    steps:
      - name: compile
        image: localhost/greenroom-test:1
        run: echo "building"
  deploy:
    needs: [build]
    steps:
      - name: roll-out
        image: localhost/greenroom-test:1
        run: |
${run.replace(/^/gm, "          ")}
`;
  await api.send("owner", "POST", "/pipelines", { name: `Tests ${slug}`, slug, definition });
  return new TestPipeline(api, slug);
}

/** The definition of environments with these names. */
export function environmentsOf(names: readonly string[], force = "developer"): string {
  return names
    .map((name) => `  ${name}:\n    labels: [ui]\n    stages: [build, deploy]\n    force: { role: ${force} }`)
    .join("\n");
}

/** A pipeline whose only stage deploys to the lasting environment `production`. `groups` have to approve it. */
export async function createReleasePipeline(api: Api, groups: readonly string[] = []): Promise<TestPipeline> {
  const approval = groups.map((group) => `        - { groups: [${group}] }`).join("\n");
  const slug = `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
  const definition = `version: 1
runner:
  pool: default
environments:
  production:
    url: https://shop.example.test
${approval && `    approval:\n      message: Is the change announced?\n      rules:\n${approval}\n`}stages:
  release:
    environment: production
    steps:
      - name: roll-out
        image: localhost/greenroom-test:1
        run: echo "rolling out"
`;
  await api.send("owner", "POST", "/pipelines", { name: `Tests ${slug}`, slug, definition });
  return new TestPipeline(api, slug);
}

/** A group with these people in it. Its name begins like those of the tests' pipelines. */
export async function createGroup(api: Api, people: readonly Person[]): Promise<{ id: string; name: string }> {
  const name = `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
  const group = await api.send<{ id: string; name: string }>("owner", "POST", "/groups", { name });
  for (const person of people) {
    const { userId } = await api.get<{ userId: string }>("/me", person);
    await api.send("owner", "PUT", `/groups/${group.id}/members/${userId}`);
  }
  return group;
}
