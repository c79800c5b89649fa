import { expect, test } from "vitest";
import { MAX_LINE, parseLine } from "./ansi";

const ESC = "\u001b";
const BEL = "\u0007";
const plain = (line: string) =>
  parseLine(line)
    .spans.map(({ text }) => text)
    .join("");

test("colors become spans, and the style is carried to the next line", () => {
  const { spans, style } = parseLine(`a ${ESC}[31mred ${ESC}[1mbold`);
  expect(spans).toEqual([
    { text: "a ", style: {} },
    { text: "red ", style: { color: "red" } },
    { text: "bold", style: { color: "red", bold: true } },
  ]);
  expect(parseLine("next", style).spans[0]?.style).toEqual({ color: "red", bold: true });
});

test.each([
  ["a link of a terminal", `${ESC}]8;;https://evil.example${BEL}click${ESC}]8;;${BEL}`, "click"],
  ["a link that ends with ST", `${ESC}]8;;x${ESC}\\click`, "click"],
  ["a title", `${ESC}]0;owned${BEL}text`, "text"],
  ["a movement of the cursor", `a${ESC}[2Kb${ESC}[10;3Hc`, "abc"],
  ["hiding the cursor", `${ESC}[?25la${ESC}[?25h${ESC}[>4;2mb`, "ab"],
  ["a sequence that is not finished", `a${ESC}[31`, "a"],
  ["a title that is not finished", `a${ESC}]0;never ends`, "a"],
  ["an escape at the end", `a${ESC}`, "a"],
  ["a color of 24 bits", `${ESC}[38;2;1;2;3mtext`, "text"],
  ["HTML, as it is", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
])("%s", (_, line, expected) => {
  expect(plain(line)).toBe(expected);
});

test("a carriage return shows the last version", () => {
  expect(plain("10%\r50%\r100%")).toBe("100%");
  expect(plain("done\r")).toBe("done");
});

test("characters that reorder or hide text are visible", () => {
  expect(plain("a\u202eb")).toBe("a‹202e›b");
  expect(plain("a\u0000b")).toBe("a‹0000›b");
  expect(plain("a\u061cb\ufff9")).toBe("a‹061c›b‹fff9›");
  expect(plain("a\u{e0061}b\u{1f600}")).toBe("a‹e0061›b\u{1f600}");
});

test("a long line is cut", () => {
  expect(plain("x".repeat(MAX_LINE + 1))).toHaveLength(MAX_LINE + 1);
});

test("a hostile line takes no long time", () => {
  const started = performance.now();
  parseLine(`${ESC}]`.repeat(5_000));
  parseLine(`${ESC}[`.repeat(5_000));
  parseLine(`${ESC}[${";".repeat(9_000)}m`);
  expect(performance.now() - started).toBeLessThan(500);
});
