// The form of a forge: what is wrong in it, and its requests. Pure.
import type { ForgeChange, NewForge } from "@/api/forge";
import type { Forge } from "@/api/types";

export const KINDS = ["github", "forgejo"] as const;
export type Kind = (typeof KINDS)[number];

const GITHUB = "https://api.github.com";
const MAX_REPOSITORIES = 50;

export type Form = {
  name: string;
  kind: Kind;
  address: string;
  /** One in each line. */
  repositories: string;
  /** Empty if it is not given: the server never returns it. */
  token: string;
};

export type Mistake = "name" | "address" | "repositories" | "token" | "tokenAgain";

export function formOf(forge?: Forge): Form {
  return {
    name: forge?.name ?? "",
    kind: isKind(forge?.kind) ? forge.kind : "github",
    address: forge?.address ?? GITHUB,
    repositories: (forge?.repositories ?? []).join("\n"),
    token: "",
  };
}

/** A newer server may have others. */
export function isKind(kind: string | undefined): kind is Kind {
  return KINDS.some((known) => known === kind);
}

/** The address of GitHub is the same for everybody, and is not kept for another kind. */
export function withKind(form: Form, kind: Kind): Form {
  const address = form.address.trim();
  if (kind === "github" && address === "") return { ...form, kind, address: GITHUB };
  if (kind !== "github" && address === GITHUB) return { ...form, kind, address: "" };
  return { ...form, kind };
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export function mistakesOf(form: Form, forge?: Forge): Mistake[] {
  const mistakes: Mistake[] = [];
  if (!forge && !NAME.test(form.name)) mistakes.push("name");
  // Which hosts may use http, the server knows.
  if (!/^https?:\/\/\S+$/.test(form.address.trim())) mistakes.push("address");
  const repositories = repositoriesOf(form).length;
  if (repositories > MAX_REPOSITORIES || (forge && repositories === 0)) mistakes.push("repositories");
  if (form.token.trim() === "") {
    if (!forge) mistakes.push("token");
    else if (form.address.trim() !== forge.address) mistakes.push("tokenAgain");
  }
  return mistakes;
}

type Line = { text: string; line: number };

/** Lines are counted from 1, and empty ones are left out. */
function repositoriesOf({ repositories }: Form): Line[] {
  return repositories
    .split("\n")
    .map((text, index) => ({ text: text.trim(), line: index + 1 }))
    .filter(({ text }) => text !== "");
}

/** The number of the line that the server names by its position in the request. */
export function lineOfRepository(form: Form, position: number): number {
  return repositoriesOf(form)[position]?.line ?? position + 1;
}

export function requestOf(form: Form): NewForge {
  const repositories = repositoriesOf(form).map(({ text }) => text);
  return {
    name: form.name,
    kind: form.kind,
    address: form.address.trim(),
    repositories: repositories.length > 0 ? repositories : undefined,
    credential: { token: form.token.trim() },
  };
}

/** Only what has changed is sent. */
export function changeOf(forge: Forge, form: Form): ForgeChange {
  const { address, repositories = [], credential } = requestOf(form);
  const change: ForgeChange = {};
  if (address !== forge.address) change.address = address;
  if (JSON.stringify(repositories) !== JSON.stringify(forge.repositories)) change.repositories = repositories;
  if (credential.token !== "") change.credential = credential;
  return change;
}
