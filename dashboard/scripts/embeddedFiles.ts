// Prepares the files of a build for the server, which embeds them: writes `files.tsv`, which `crates/dashboard/build.rs`
// reads, and compresses the files for browsers that accept it. The server compresses nothing, neither when it is compiled
// nor when it runs.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

interface ContentType {
  name: string;
  isText: boolean;
}

const CONTENT_TYPES: Record<string, ContentType> = {
  ".css": { name: "text/css", isText: true },
  ".html": { name: "text/html", isText: true },
  ".js": { name: "text/javascript", isText: true },
  ".json": { name: "application/json", isText: true },
  ".svg": { name: "image/svg+xml", isText: true },
  ".png": { name: "image/png", isText: false },
  ".woff2": { name: "font/woff2", isText: false },
};

/** In bytes. Compressed, a smaller file would still be one packet. */
const MIN_COMPRESSED_SIZE = 128;

/** The server has a route for each file, so a name must mean the same in an address and in a pattern of routes. */
const PLAIN_PATH = /^[\w./-]+$/;

const compressors = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
  gz: (bytes: Buffer) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
};

/** Writes the table of the files below `site`, and their compressed encodings, into the folder `embedded`. */
export async function writeEmbeddedFiles(site: string, embedded: string): Promise<void> {
  await rm(embedded, { recursive: true, force: true });
  const entries = await readdir(site, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const rows = await Promise.all(paths.toSorted().map((path) => prepareFile(site, path.slice(site.length), embedded)));
  await mkdir(embedded, { recursive: true });
  // The table is written last: without it, the server is built without the dashboard.
  await writeFile(join(embedded, "files.tsv"), rows.map((row) => `${row.join("\t")}\n`).join(""));
}

/** Compresses a file, and returns its row: its URL path, its type, the hash of its contents, and whether it has compressed
    encodings. */
async function prepareFile(site: string, path: string, embedded: string): Promise<string[]> {
  const type = CONTENT_TYPES[extname(path)];
  if (!type) throw new Error(`${path}: add its type to scripts/embeddedFiles.ts`);
  if (!PLAIN_PATH.test(path)) throw new Error(`${path}: use only letters, digits, and - _ . in the names of files`);
  const bytes = await readFile(join(site, path));
  const isCompressed = type.isText && bytes.length >= MIN_COMPRESSED_SIZE;
  for (const [suffix, compress] of isCompressed ? Object.entries(compressors) : []) {
    const file = join(embedded, `${path}.${suffix}`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, await compress(bytes));
  }
  const hash = createHash("sha256").update(bytes).digest("hex");
  return [path, type.name, hash, isCompressed ? "compressed" : "plain"];
}
