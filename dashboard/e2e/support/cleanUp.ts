// Removes what the tests have made: pipelines, with the sessions in them, secrets, freezes, groups, service accounts, step
// registries, forges, and members; and turns the model off. Pictures show the demo alone.
import { Api, PIPELINE_PREFIX } from "./api";
import { stackOf } from "./stack";

/** The e-mail addresses of the tests' members end with it. */
export const MEMBER_DOMAIN = "@ui.example.test";

export default async function cleanUp(): Promise<void> {
  const api = new Api(stackOf());
  const pipelines = await api.get<{ slug: string; status: string }[]>("/pipelines?limit=100");
  for (const { slug, status } of pipelines) {
    if (slug.startsWith(PIPELINE_PREFIX) && status !== "archived")
      await api.request("owner", "DELETE", `/pipelines/${slug}`);
  }
  const secrets = await api.get<{ id: string; name: string }[]>("/secrets?limit=100");
  for (const { id, name } of secrets)
    if (name.startsWith(PIPELINE_PREFIX)) await api.request("owner", "DELETE", `/secrets/${id}`);
  const freezes = await api.get<{ id: string; name: string }[]>("/freezes?limit=100");
  for (const { id, name } of freezes)
    if (name.startsWith(PIPELINE_PREFIX)) await api.request("owner", "DELETE", `/freezes/${id}`);
  for (const path of ["/groups", "/service-accounts", "/step-registries"]) {
    const named = await api.get<{ id: string; name: string }[]>(`${path}?limit=100`);
    for (const { id, name } of named)
      if (name.startsWith(PIPELINE_PREFIX)) await api.request("owner", "DELETE", `${path}/${id}`);
  }
  const forges = await api.get<{ name: string }[]>("/forges?limit=100");
  for (const { name } of forges)
    if (name.startsWith(PIPELINE_PREFIX)) await api.request("owner", "DELETE", `/forges/${name}`);
  await api.request("owner", "PATCH", "/analysis-settings", { enabled: false });
  const members = await api.get<{ userId: string; email: string }[]>("/members?limit=100");
  for (const { userId, email } of members) {
    if (email.endsWith(MEMBER_DOMAIN)) await api.request("owner", "DELETE", `/members/${userId}`);
  }
}
