import { expect, test } from "vitest";
import { isTyping } from "./keys";

test.each([
  [{ tagName: "INPUT", type: "text" }, true],
  [{ tagName: "INPUT", type: "radio" }, false],
  [{ tagName: "TEXTAREA" }, true],
  [{ tagName: "DIV", isContentEditable: true }, true],
  [{ tagName: "BUTTON" }, false],
  [null, false],
])("%o takes keys itself: %s", (target, expected) => {
  expect(isTyping(target)).toBe(expected);
});
