// Navigation on phones: at most four screens; the rest is in its menu.
import { Suspense } from "react";
import { cx } from "@/lib/classes";
import { lazily } from "@/lib/lazily";
import { shortCount } from "@/texts/en/number";
import { shell } from "@/texts/en/shell";
import { Link } from "@/ui/Link";
import { isCurrent, MAIN, ORGANIZATION } from "./navigation";
import { useCounts } from "./useCounts";

const MoreMenu = lazily(() => import("./MoreMenu"), "MoreMenu");

type Props = { org: string; pathname: string };

export function BottomBar({ org, pathname }: Props) {
  const counts = useCounts(org);
  return (
    <nav
      aria-label={shell.main}
      className="fixed inset-x-0 bottom-0 z-10 flex *:flex-auto border-t border-line bg-raised pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {[...MAIN, ...ORGANIZATION]
        .filter((entry) => entry.phone)
        .map((entry) => {
          const isOn = isCurrent(entry, org, pathname);
          return (
            <Link
              key={entry.label}
              to={entry.to(org)}
              aria-current={isOn ? "page" : undefined}
              className={cx(
                "flex min-h-11 items-center justify-center py-2.5 text-12",
                isOn ? "font-title text-ink shadow-[inset_0_2px_0_var(--brand)]" : "text-ink2",
              )}
            >
              {entry.label}
              {entry.isUrgent && <Count count={counts && entry.count?.(counts)} />}
            </Link>
          );
        })}
      <Suspense fallback={<span className="min-h-11 py-2.5 text-center text-12 text-ink2">{shell.more}</span>}>
        <MoreMenu org={org} />
      </Suspense>
    </nav>
  );
}

/** There is room only for numbers that somebody should act on. */
function Count({ count }: { count: number | undefined }) {
  if (!count) return null;
  return (
    <span className="ml-1 rounded-full bg-amber-soft px-1.5 font-bold text-amber tabular-nums">
      {shortCount(count)}
    </span>
  );
}
