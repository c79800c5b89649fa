// The door and the name.
import { shell } from "@/texts/en/shell";

export function Logo() {
  return (
    <>
      <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" className="shrink-0 text-brand">
        <path d="M4 2h11l3 3v15H4z" fill="currentColor" />
        <circle cx="14" cy="12" r="1.6" className="fill-sunken" />
      </svg>
      <span className="font-display text-20 font-title tracking-[-0.01em]">{shell.product}</span>
    </>
  );
}
