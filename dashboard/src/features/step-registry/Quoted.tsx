// Renders a text of the API: words in backquotes become <code>.

export function Quoted({ text }: { text: string }) {
  return text.split("`").map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <code key={index} className="text-12 wrap-anywhere">
        {part}
      </code>
    ),
  );
}

/** With a capital letter, for a text that stands alone. */
export function sentence(text: string): string {
  return text.charAt(0).toLocaleUpperCase("en") + text.slice(1);
}
