// A text to copy, such as a token that is shown once or a command.
import { useState } from "react";
import { common } from "@/texts/en/common";
import { Button } from "./Button";

export function Copyable({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  // Without https there is no clipboard; the text can be selected.
  const copy = () =>
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => undefined,
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
        <Button onClick={() => void copy()}>{isCopied ? common.copied : common.copy}</Button>
      </div>
    </div>
  );
}
