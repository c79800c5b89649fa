import { expect, test } from "vitest";
import type { Forge } from "@/api/types";
import { changeOf, type Form, formOf, isKind, lineOfRepository, mistakesOf, requestOf, withKind } from "./form";

const good: Form = { ...formOf(), name: "github", token: "github_pat_example" };

const forge = {
  name: "github",
  kind: "github",
  address: "https://api.github.com",
  repositories: ["github.com/acme"],
} as Forge;

test("a forge needs a name, an address and a token", () => {
  expect(mistakesOf(good)).toEqual([]);
  expect(mistakesOf({ ...formOf(), address: "" })).toEqual(["name", "address", "token"]);
  expect(mistakesOf({ ...good, name: "GitHub", address: "api.github.com" })).toEqual(["name", "address"]);
  expect(mistakesOf({ ...good, token: "  " })).toEqual(["token"]);
});

test("the address of GitHub is filled in, and not kept for another kind", () => {
  expect(formOf().address).toBe("https://api.github.com");
  const forgejo = withKind(good, "forgejo");
  expect([forgejo.kind, forgejo.address]).toEqual(["forgejo", ""]);
  expect(withKind(forgejo, "github").address).toBe("https://api.github.com");
  const own = { ...good, address: "https://git.example.com/api/v3" };
  expect(withKind(own, "forgejo").address).toBe("https://git.example.com/api/v3");
});

test("repositories are lines; without one, the server takes all of the host", () => {
  expect(requestOf(good).repositories).toBeUndefined();
  const form = { ...good, repositories: "\n github.com/acme \n\ngithub.com/globex/shop\n" };
  expect(requestOf(form).repositories).toEqual(["github.com/acme", "github.com/globex/shop"]);
  expect(lineOfRepository(form, 1)).toBe(4);
  const many = Array.from({ length: 51 }, (_, index) => `github.com/o${index}`).join("\n");
  expect(mistakesOf({ ...good, repositories: many })).toEqual(["repositories"]);
  expect(mistakesOf({ ...formOf(forge), repositories: "" }, forge)).toEqual(["repositories"]);
});

test("a change contains only what differs", () => {
  const form = formOf(forge);
  expect(mistakesOf(form, forge)).toEqual([]);
  expect(changeOf(forge, form)).toEqual({});
  expect(changeOf(forge, { ...form, repositories: "github.com" })).toEqual({ repositories: ["github.com"] });
  expect(changeOf(forge, { ...form, token: " new " })).toEqual({ credential: { token: "new" } });
});

test("another address needs the token again", () => {
  const moved = { ...formOf(forge), address: "https://git.example.com/api/v3" };
  expect(mistakesOf(moved, forge)).toEqual(["tokenAgain"]);
  expect(mistakesOf({ ...moved, token: "x" }, forge)).toEqual([]);
  expect(changeOf(forge, { ...moved, token: "x" })).toEqual({ address: moved.address, credential: { token: "x" } });
});

test("a kind of a newer server is not one of the form", () => {
  expect(["github", "forgejo", "gitlab", undefined].map(isKind)).toEqual([true, true, false, false]);
});
