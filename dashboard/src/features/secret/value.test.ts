import { expect, test } from "vitest";
import { entered, MAX_BYTES, mistakeIn, takeOnce } from "./value";

test("a value has 6 characters at least and 64 KiB of UTF-8 at most", () => {
  expect(mistakeIn("")).toBe("missing");
  expect(mistakeIn("12345")).toBe("short");
  expect(mistakeIn("äöü")).toBe("short");
  expect(mistakeIn("🔑🔑🔑🔑🔑")).toBe("short");
  expect(mistakeIn("äöüäöü")).toBeUndefined();
  expect(mistakeIn("x".repeat(MAX_BYTES))).toBeUndefined();
  expect(mistakeIn("ä".repeat(MAX_BYTES / 2 + 1))).toBe("long");
  expect(mistakeIn("abc\0defg")).toBe("nul");
});

test("a value can be taken once", () => {
  const take = takeOnce("orbit-lantern");
  expect(take()).toBe("orbit-lantern");
  expect(take()).toBe("");
});

test("a text is sent as it is, with its line ends", async () => {
  const result = await entered("line 1\nline 2\n", undefined);
  expect(result.mistake === undefined && result.take()).toBe("line 1\nline 2\n");
});

test("a file takes the place of the text, with its byte order mark", async () => {
  const result = await entered("", new Blob(["\uFEFFsecret\n"]));
  expect(result.mistake === undefined && result.take()).toBe("\uFEFFsecret\n");
});

test("a file that is no text, or too large, is refused", async () => {
  expect(await entered("", new Blob([new Uint8Array([0xff, 0xfe, 1, 2, 3, 4, 5])]))).toEqual({ mistake: "encoding" });
  expect(await entered("", new Blob(["x".repeat(MAX_BYTES + 1)]))).toEqual({ mistake: "long" });
  expect(await entered("", new Blob([]))).toEqual({ mistake: "missing" });
});
