// CI without a stored token: the tokens of a real OpenID provider are exchanged for tokens of a service account.
import { randomUUID } from "node:crypto";
import { createPipeline, environmentsOf, type Json, type TestPipeline } from "./support/api";
import { expect, test } from "./support/fixtures";
import { configuredProviders } from "./support/oidcProvider";
import { stackOf } from "./support/stack";
import { TokenIssuer } from "./support/tokenIssuer";

// A server that has the tests' providers may send requests to this machine.
test.skip(configuredProviders().length === 0, "GREENROOM_OIDC_PROVIDERS is not set");

const MAIN = { repository_id: "74", repository: "acme/shop", ref: "refs/heads/main" };
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

let issuer: TokenIssuer;

test.beforeAll(async () => {
  issuer = await TokenIssuer.start();
});

test.afterAll(async () => {
  await issuer?.close();
});

type Metadata = { issuer: string; token_endpoint: string };
type Exchanged = { status: number; body: { access_token?: string; error?: string } };

/** The address of the server, as its metadata states it. */
async function metadata(): Promise<Metadata> {
  const { origin } = new URL(stackOf().api);
  return (await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()) as Metadata;
}

async function exchange(account: string, subject: string, actor?: string): Promise<Exchanged> {
  const server = await metadata();
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: subject,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    resource: `${server.issuer}/api/v1/organizations/${stackOf().org}/service-accounts/${account}`,
  });
  if (actor) {
    form.set("actor_token", actor);
    form.set("actor_token_type", ACCESS_TOKEN);
  }
  const { origin } = new URL(stackOf().api);
  const response = await fetch(`${origin}/oauth/token`, { method: "POST", body: form });
  return { status: response.status, body: (await response.json()) as Exchanged["body"] };
}

/** Sends a request to an environment of the pipeline with a token. */
async function send(pipeline: TestPipeline, token: string, path: string, body: Json = {}): Promise<Response> {
  const { api, org } = stackOf();
  return fetch(`${api}/organizations/${org}${pipeline.environment("qa-1")}${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

test("a job claims an environment without a stored token, and keeps it with its next token", async ({ api }) => {
  const pipeline = await createPipeline(api, environmentsOf(["qa-1"]));
  const { id } = await api.get<{ id: string }>(`/pipelines/${pipeline.slug}`);
  const account = await api.send<{ id: string }>("admin", "POST", "/service-accounts", {
    name: `ui-${randomUUID().slice(0, 8)}`,
    role: "developer",
  });
  const path = `/service-accounts/${account.id}`;
  await api.send("admin", "POST", `${path}/trust-policies`, {
    name: "shop, main",
    issuer: issuer.issuer,
    claims: { repository_id: "74", ref: "refs/heads/main" },
    pipelines: [id],
  });
  const { issuer: audience } = await metadata();

  const subject = await issuer.token(audience, MAIN);
  const { body } = await exchange(account.id, subject);
  const token = body.access_token ?? "";
  expect(token).toMatch(/^grn_/);
  const claimed = await send(pipeline, token, "/sessions");
  expect(claimed.status).toBe(201);
  const { data } = (await claimed.json()) as { data: { sessionId: string } };

  const refused = { status: 400, error: "invalid_grant" };
  const isRefused = async (wrong: string, actor?: string) => {
    const response = await exchange(account.id, wrong, actor);
    expect({ status: response.status, error: response.body.error }).toEqual(refused);
  };
  await isRefused(subject);
  await isRefused(await issuer.token(audience, { ...MAIN, ref: "refs/pull/7/merge" }));
  await isRefused(await issuer.token(audience, { ...MAIN, repository_id: "75" }));
  await isRefused(await issuer.token(audience, { ...MAIN, repository_id: 74 }));
  await isRefused(await issuer.token("https://other.example", MAIN));
  await isRefused(await issuer.token(audience, MAIN), subject);

  const another = await exchange(account.id, await issuer.token(audience, MAIN));
  expect((await send(pipeline, another.body.access_token ?? "", `/sessions/${data.sessionId}/heartbeat`)).status).toBe(
    403,
  );
  const next = await exchange(account.id, await issuer.token(audience, MAIN), token);
  expect((await send(pipeline, next.body.access_token ?? "", `/sessions/${data.sessionId}/heartbeat`)).status).toBe(
    200,
  );
  await api.send("admin", "DELETE", path);
});
