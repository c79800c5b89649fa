import { expect, test } from "vitest";
import type { Member } from "@/api/types";
import { leaseEnd, receiversOf } from "./receivers";

const member = (name: string, role: Member["role"]): Member => ({
  userId: `usr_${name}`,
  name,
  role,
  email: `${name}@example.test`,
  createdAt: "",
  updatedAt: "",
});

test("a session is given to others who can hold one", () => {
  const members = [
    member("tomas", "developer"),
    member("vera", "viewer"),
    member("maya", "owner"),
    member("ana", "admin"),
  ];
  expect(receiversOf(members, "usr_maya").map(({ name }) => name)).toEqual(["ana", "tomas"]);
});

test("what is left counts from when it was received", () => {
  expect(leaseEnd({ leaseRemainingMs: 5_000, expiresAt: "2026-11-16T10:00:00Z" }, 1_000)).toBe(6_000);
  expect(leaseEnd({ expiresAt: "2026-11-16T10:00:00Z" }, 1_000)).toBe(Date.parse("2026-11-16T10:00:00Z"));
  expect(leaseEnd({}, 1_000)).toBeUndefined();
});
