import { expect, test } from "vitest";
import { visible } from "./visible";

test("characters that reorder or hide text are shown by their code points", () => {
  expect(visible("evil\u202etxt\u200b\u0000\u{e0041}")).toBe("evil‹202e›txt‹200b›‹0000›‹e0041›");
});

test("letters of all scripts, tabs and line breaks stay", () => {
  expect(visible("a\tb\nשלום 日本 é")).toBe("a\tb\nשלום 日本 é");
});
