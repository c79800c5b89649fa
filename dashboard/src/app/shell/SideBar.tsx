// Navigation on wide screens.
import { cx } from "@/lib/classes";
import { paths } from "@/lib/paths";
import { shortCount } from "@/texts/en/number";
import { shell } from "@/texts/en/shell";
import { Link } from "@/ui/Link";
import { Logo } from "./Logo";
import { type Entry, isCurrent, MAIN, ORGANIZATION } from "./navigation";
import { useCounts } from "./useCounts";

type Props = { org: string; pathname: string };

export function SideBar({ org, pathname }: Props) {
  const counts = useCounts(org);
  const item = (entry: Entry) => {
    const count = counts && entry.count?.(counts);
    return <Item key={entry.label} entry={entry} count={count} org={org} pathname={pathname} />;
  };
  return (
    <nav
      aria-label={shell.main}
      className="sticky top-0 flex h-dvh flex-col gap-0.5 overflow-y-auto border-r border-line bg-sunken px-3 py-4 max-md:hidden"
    >
      <Link to={paths.home(org)} className="flex items-center gap-2 px-2 pb-4">
        <Logo />
      </Link>
      {MAIN.map(item)}
      {ORGANIZATION.length > 0 && (
        <h2 className="mx-2 mt-4 mb-1 font-sans text-12 font-bold text-ink3">{shell.organization}</h2>
      )}
      {ORGANIZATION.map(item)}
    </nav>
  );
}

function Item({ entry, count, org, pathname }: Props & { entry: Entry; count: number | undefined }) {
  const isOn = isCurrent(entry, org, pathname);
  return (
    <Link
      to={entry.to(org)}
      aria-current={isOn ? "page" : undefined}
      className={cx(
        "flex min-h-row items-center gap-2.5 rounded-6 px-2",
        isOn
          ? "bg-raised font-bold text-ink shadow-[inset_3px_0_0_var(--brand)]"
          : "text-ink2 hover:bg-raised/60 hover:text-ink",
      )}
    >
      <span className="flex-1">{entry.label}</span>
      {count !== undefined && count > 0 && (
        <span className="text-12 font-body text-ink2 tabular-nums">{shortCount(count)}</span>
      )}
    </Link>
  );
}
