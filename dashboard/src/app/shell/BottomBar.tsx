// Navigation on phones: at most four screens; the rest is in its menu.
import { Suspense } from "react";
import { cx } from "@/lib/classes";
import { lazily } from "@/lib/lazily";
import { shell } from "@/texts/en/shell";
import { Link } from "@/ui/Link";
import { isCurrent, MAIN, ORGANIZATION } from "./navigation";

const MoreMenu = lazily(() => import("./MoreMenu"), "MoreMenu");

type Props = { org: string; pathname: string };

export function BottomBar({ org, pathname }: Props) {
  return (
    <nav
      aria-label={shell.main}
      className="fixed inset-x-0 bottom-0 z-10 grid auto-cols-fr grid-flow-col border-t border-line bg-raised pb-[env(safe-area-inset-bottom)] md:hidden"
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
            </Link>
          );
        })}
      <Suspense fallback={<span className="min-h-11 py-2.5 text-center text-12 text-ink2">{shell.more}</span>}>
        <MoreMenu org={org} />
      </Suspense>
    </nav>
  );
}
