import { expect, test } from "vitest";
import { allowedOf } from "./allowed";
import type { Input } from "./manifest";

const input = (rest: Partial<Input>): Input => ({ name: "x", type: "string", required: false, choices: [], ...rest });

test("the rules of an input are written out", () => {
  expect(allowedOf(input({}))).toEqual({ choices: [], rules: [] });
  expect(allowedOf(input({ minimum: 1, maximum: 10 })).rules).toEqual(["1 to 10"]);
  expect(allowedOf(input({ minimum: 0 })).rules).toEqual(["at least 0"]);
  expect(allowedOf(input({ maximum: -0.5 })).rules).toEqual(["at most -0.5"]);
  expect(allowedOf(input({ minLength: 1, maxLength: 63 })).rules).toEqual(["1 to 63 characters"]);
});

test("choices are shown as they are written in a definition", () => {
  expect(allowedOf(input({ choices: ["a", "1", 1] })).choices).toEqual(['"a"', '"1"', "1"]);
});
