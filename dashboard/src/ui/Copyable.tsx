// A text to copy, such as a token that is shown once or a command.
import { useState } from "react";
import { common } from "@/texts/en/common";
import { Button } from "./Button";

type Props = {
  text: string;
  label: string;
  /** Several lines, such as a part of a definition. Long ones are not broken. */
  lines?: boolean;
};

export function Copyable({ text, label, lines = false }: Props) {
  const [isCopied, setCopied] = useState(false);
  // Without https there is no clipboard; the text can be selected.
  const copy = () =>
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  const button = <Button onClick={() => void copy()}>{isCopied ? common.copied : common.copy}</Button>;
  if (lines)
    return (
      <div className="flex flex-col gap-1">
        <div className="flex items-end justify-between gap-2">
          <span className="text-13 font-strong">{label}</span>
          {button}
        </div>
        {/* It scrolls by itself, so it can be focused. */}
        <pre
          role="region"
          aria-label={label}
          tabIndex={0}
          className="overflow-x-auto rounded-4 bg-sunken p-3 font-mono text-12"
        >
          {text}
        </pre>
      </div>
    );
  return (
    <div className="flex flex-col gap-1">
      <span className="text-13 font-strong">{label}</span>
      <div className="flex items-start gap-2">
        <code
          aria-label={label}
          className="min-w-0 flex-1 rounded-4 bg-sunken p-2 text-12 break-all whitespace-pre-wrap select-all"
        >
          {text}
        </code>
        {button}
      </div>
    </div>
  );
}
