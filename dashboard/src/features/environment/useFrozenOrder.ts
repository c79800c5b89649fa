// The order of the board. It does not change while the pointer or the focus is inside, so that no card moves
// away from under a finger.
import { type FocusEvent, useMemo, useRef, useState } from "react";
import { idOf, keepOrder, order, type Shown, type Viewer } from "./view";

export function useFrozenOrder(environments: readonly Shown[], viewer: Viewer) {
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const ids = useRef<readonly string[]>([]);
  const isFrozen = isPointed || isFocused;
  const ordered = useMemo(() => {
    const next = isFrozen ? keepOrder(environments, ids.current) : order(environments, viewer);
    ids.current = next.map(idOf);
    return next;
  }, [environments, viewer, isFrozen]);
  const freeze = {
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    onFocus: () => setFocused(true),
    onBlur: (event: FocusEvent<HTMLElement>) => setFocused(event.currentTarget.contains(event.relatedTarget)),
  };
  return { environments: ordered, freeze };
}
