import { expect, test } from "vitest";
import { parseSearch, stringifySearch } from "./search";

test("texts that look like numbers stay texts", () => {
  expect(parseSearch("?commit=1234e56&q=418&on=true")).toEqual({ commit: "1234e56", q: "418", on: "true" });
});

test("what is left out is not in the address", () => {
  expect(stringifySearch({ q: "a b", state: undefined, label: "" })).toBe("?q=a+b");
  expect(stringifySearch({})).toBe("");
});

test("a name of the object's prototype is a plain text", () => {
  expect(parseSearch("?__proto__=x")).not.toHaveProperty("x");
});
