import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeEmbeddedFiles } from "./embeddedFiles";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "greenroom-embedded-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a site of these files, and returns the table's rows. */
async function embed(files: Record<string, string>): Promise<string[][]> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, "site", path)), { recursive: true });
    writeFileSync(join(folder, "site", path), text);
  }
  await writeEmbeddedFiles(join(folder, "site"), join(folder, "embedded"));
  const table = readFileSync(join(folder, "embedded/files.tsv"), "utf8");
  return table.split("\n").flatMap((line) => (line ? [line.split("\t")] : []));
}

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

test("a text has two compressed encodings with the same contents", async () => {
  const script = "let count = 1;\n".repeat(100);
  const rows = await embed({ "immutable/a-1.js": script });
  expect(rows).toEqual([["/immutable/a-1.js", "text/javascript", hash(script), "compressed"]]);
  const encoded = (suffix: string) => readFileSync(join(folder, `embedded/immutable/a-1.js.${suffix}`));
  expect(brotliDecompressSync(encoded("br")).toString()).toBe(script);
  expect(gunzipSync(encoded("gz")).toString()).toBe(script);
  expect(encoded("br").length).toBeLessThan(script.length);
});

test("fonts and very small files are sent as they are, and rows are in order", async () => {
  const [font, small] = ["f".repeat(1000), "<p>"];
  expect(await embed({ "index.html": small, "immutable/f.woff2": font })).toEqual([
    ["/immutable/f.woff2", "font/woff2", hash(font), "plain"],
    ["/index.html", "text/html", hash(small), "plain"],
  ]);
});

test("encodings of removed files are removed", async () => {
  await embed({ "old.css": "a {}\n".repeat(100) });
  rmSync(join(folder, "site/old.css"));
  expect(await embed({ "new.css": "a {}" })).toHaveLength(1);
  expect(existsSync(join(folder, "embedded/old.css.br"))).toBe(false);
});

test("a file of an unknown type is refused", async () => {
  await expect(embed({ "a.wasm": "" })).rejects.toThrow("/a.wasm: add its type");
});

test("a name that means something else in an address or a route is refused", async () => {
  await expect(embed({ "{a}.css": "" })).rejects.toThrow("/{a}.css: use only letters");
});
