// Text of programs, such as that of logs: characters that reorder or hide text are shown by their code points.

const INVISIBLE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** `evil\u202etxt` as `evil‹202e›txt`. Tabs and line breaks stay. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `‹${character.codePointAt(0)?.toString(16).padStart(4, "0")}›`);
}
