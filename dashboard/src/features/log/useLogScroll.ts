// Where the reader is in a log, and whether new lines are followed. Following starts at the end, and stops as
// soon as the reader scrolls away from it.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useStableCallback } from "@/lib/useStableCallback";
import { heightOf, isAtEnd, scrollTopOf, windowOf } from "./window";

const DEFAULT_VIEWPORT = 600;

export function useLogScroll(lines: number, target: number | undefined, isLive: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  const [position, setPosition] = useState({ scrollTop: 0, viewport: DEFAULT_VIEWPORT });
  const [isFollowing, setFollowing] = useState(isLive && target === undefined);
  const [seen, setSeen] = useState(0);
  const jumpedTo = useRef<number>(undefined);

  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => {
      const { scrollTop, clientHeight, scrollHeight } = element;
      setPosition({ scrollTop, viewport: clientHeight });
      setFollowing(isLive && isAtEnd(scrollTop, clientHeight, scrollHeight));
    };
    const size = new ResizeObserver(() =>
      setPosition({ scrollTop: element.scrollTop, viewport: element.clientHeight }),
    );
    element.addEventListener("scroll", read, { passive: true });
    size.observe(element);
    return () => {
      element.removeEventListener("scroll", read);
      size.disconnect();
    };
  }, [isLive]);

  const showLine = useStableCallback((line: number) => {
    setFollowing(false);
    if (ref.current) ref.current.scrollTop = scrollTopOf(line, lines, ref.current.clientHeight);
  });

  // The line of the address is shown once it is there, unless it was marked in the log itself.
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element || target === undefined || jumpedTo.current === target || lines < target) return;
    jumpedTo.current = target;
    showLine(target - 1);
    // After the router, which restores where this element was scrolled to.
    requestAnimationFrame(() => {
      showLine(target - 1);
      element.scrollIntoView({ block: "nearest" });
    });
  }, [lines, target, showLine]);

  useLayoutEffect(() => {
    if (!isFollowing || !ref.current) return;
    ref.current.scrollTop = heightOf(lines);
    setSeen(lines);
  }, [isFollowing, lines]);

  return {
    ref,
    window: windowOf(lines, position.scrollTop, position.viewport),
    isFollowing,
    unseen: isLive && !isFollowing ? Math.max(0, lines - seen) : 0,
    followEnd: () => setFollowing(true),
    showLine,
    /** The reader marks this line: the address is about to name it, and nothing has to move. */
    stayAt: (line: number) => {
      jumpedTo.current = line;
    },
  };
}
