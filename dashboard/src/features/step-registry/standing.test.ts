import { expect, test } from "vitest";
import { isSigned, standingOf, usableAt } from "./standing";

const NOW = Date.parse("2026-11-17T12:00:00Z");
const open = { minimumAgeSeconds: 0, requireSignature: false, signers: [] };
const version = { digest: "sha256:a", seenAt: "2026-11-17T11:00:00Z", signer: "releases@example.com" };
const signers = ["releases@example.com ssh-ed25519 AAAA"];

test("a version can be locked unless a rule of its registry or an admin forbids it", () => {
  expect(standingOf(version, open, NOW)).toBe("usable");
  const yanked = { at: "", by: "usr_1", reason: "Deletes the wrong replicas", refused: false };
  expect(standingOf({ ...version, yanked }, open, NOW)).toBe("yanked");
  expect(standingOf({ ...version, yanked: { ...yanked, refused: true } }, open, NOW)).toBe("refused");
});

test("content that is refused stays so under another version", () => {
  const yanked = { at: "", by: "usr_1", reason: "Deletes the wrong replicas", refused: true };
  const others = [{ ...version, yanked }];
  expect(standingOf(version, open, NOW, others)).toBe("refused");
  expect(standingOf({ ...version, digest: "sha256:b" }, open, NOW, others)).toBe("usable");
  expect(standingOf(version, open, NOW, [{ ...version, yanked: { ...yanked, refused: false } }])).toBe("usable");
});

test("a version is too new until it has the minimum age", () => {
  expect(standingOf(version, { ...open, minimumAgeSeconds: 3_600 }, NOW)).toBe("usable");
  const rules = { ...open, minimumAgeSeconds: 3_601 };
  expect(standingOf(version, rules, NOW)).toBe("young");
  expect(usableAt(version, rules)).toBe(NOW + 1_000);
  expect(usableAt(version, open)).toBeUndefined();
});

test("a signer who was removed does not count any more", () => {
  const rules = { ...open, requireSignature: true, signers };
  expect(standingOf(version, rules, NOW)).toBe("usable");
  expect(standingOf({ ...version, signer: null }, rules, NOW)).toBe("unsigned");
  expect(standingOf({ ...version, signer: "releases@example.co" }, rules, NOW)).toBe("unsigned");
  expect(isSigned({ signer: "" }, { signers: ["", ...signers] })).toBe(false);
});
