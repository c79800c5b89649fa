// Buttons. A disabled button stays focusable and says why, so that nobody has to guess.
import type { ComponentProps, ReactNode } from "react";
import { cx } from "@/lib/classes";

export type ButtonLook = "primary" | "plain" | "quiet" | "danger";

const LOOKS: Record<ButtonLook, string> = {
  primary: "border-brand bg-brand text-on-brand hover:opacity-90",
  plain: "border-control bg-raised text-ink hover:bg-sunken",
  quiet: "border-transparent bg-transparent text-ink2 hover:bg-sunken hover:text-ink",
  // With less opacity than this its text is no longer readable enough for WCAG.
  danger: "border-red bg-red text-canvas hover:opacity-95",
};

type Props = Omit<ComponentProps<"button">, "disabled"> & {
  look?: ButtonLook;
  /** Why it can't be pressed now. Shown as a tooltip and read by screen readers. */
  why?: string;
  busy?: boolean;
  icon?: ReactNode;
};

export function buttonClass(look: ButtonLook = "plain"): string {
  return cx(
    "state-motion inline-flex min-h-row items-center justify-center gap-1.5 rounded-6 border px-[11px] text-13 font-strong whitespace-nowrap",
    "aria-disabled:opacity-60 aria-disabled:hover:opacity-60",
    LOOKS[look],
  );
}

export function Button({
  look = "plain",
  why,
  busy = false,
  icon,
  className,
  onClick,
  children,
  type,
  ...rest
}: Props) {
  const isDisabled = Boolean(why) || busy;
  return (
    <button
      {...rest}
      type={type ?? "button"}
      aria-disabled={isDisabled || undefined}
      aria-busy={busy || undefined}
      title={why ?? rest.title}
      className={cx(buttonClass(look), className)}
      onClick={(event) => {
        if (isDisabled) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon}
      {children}
      {why && <span className="sr-only">({why})</span>}
    </button>
  );
}
