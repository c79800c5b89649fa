// Single-key shortcuts. They are off while the person types, while a dialog is open, and if they were switched
// off in the profile (WCAG 2.1.4).
import { useEffect, useEffectEvent } from "react";
import { tinykeys } from "tinykeys";
import { usePreferences } from "./preferences";

/** Keys in the notation of tinykeys, such as `g e` or `Shift+F`. */
export type Bindings = Record<string, () => void>;

/** Whether a key pressed in this element belongs to it, and not to a shortcut. */
export function isTyping(target: { tagName?: string; isContentEditable?: boolean; type?: string } | null): boolean {
  if (!target) return false;
  if (target.isContentEditable) return true;
  if (target.tagName === "INPUT") return !["checkbox", "radio", "button", "submit"].includes(target.type ?? "");
  return target.tagName === "TEXTAREA" || target.tagName === "SELECT";
}

function isShortcut(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return false;
  const target = event.target instanceof HTMLElement ? event.target : null;
  return !isTyping(target) && !target?.closest('[role="dialog"], [role="menu"]');
}

const SEQUENCE_TIMEOUT = 1_000;
let sequenceUntil = 0;

/** `g` begins a sequence such as `g d`; the second key must not fire the shortcut `d` of the page. */
function watchSequence(event: KeyboardEvent): void {
  if (event.key === "g" && isShortcut(event)) sequenceUntil = Date.now() + SEQUENCE_TIMEOUT;
  else setTimeout(() => (sequenceUntil = 0));
}

if (typeof window !== "undefined") window.addEventListener("keydown", watchSequence, true);

export function useKeys(bindings: Bindings, enabled = true): void {
  const { keys } = usePreferences();
  const isOn = enabled && keys === "on";
  const names = Object.keys(bindings).join("|");
  const press = useEffectEvent((name: string, event: KeyboardEvent) => {
    const isInSequence = Date.now() < sequenceUntil;
    if (!isShortcut(event) || (isInSequence && !name.includes(" "))) return;
    event.preventDefault();
    bindings[name]?.();
  });
  useEffect(() => {
    if (!isOn || names === "") return;
    const handlers = names.split("|").map((name) => [name, (event: KeyboardEvent) => press(name, event)] as const);
    return tinykeys(window, Object.fromEntries(handlers));
  }, [isOn, names]);
}
