// Ids and commits as people read them, and keys that make requests idempotent.

const COMMIT_LENGTH = 7;
const ID_LENGTH = 8;

export function shortCommit(commit: string): string {
  return commit.slice(0, COMMIT_LENGTH);
}

/** `dep_0190a0b0-…-000000000001` as `dep_…00000001`: the end of a UUIDv7 is random, its beginning is a time. */
export function shortId(id: string): string {
  const separator = id.indexOf("_");
  if (separator < 0 || id.length - separator <= ID_LENGTH) return id;
  return `${id.slice(0, separator + 1)}…${id.slice(-ID_LENGTH)}`;
}

/** A new `Idempotency-Key`. `crypto.randomUUID` is missing on plain HTTP, so it is not used. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const COMMIT = /^[0-9a-f]{7,64}$/;

export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/** At most two letters for a face: of the first and the last word, or of the only one. */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/u).filter(Boolean);
  const first = words[0] ?? "?";
  const last = words.length > 1 ? words.at(-1) : undefined;
  const letters = last ? firstLetter(first) + firstLetter(last) : Array.from(first).slice(0, 2).join("");
  return letters.toLocaleUpperCase("en");
}

function firstLetter(word: string): string {
  return Array.from(word)[0] ?? "";
}
