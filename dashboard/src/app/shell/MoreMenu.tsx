// The screens that the bottom bar of phones has no room for.
import { useRouter } from "@tanstack/react-router";
import { paths } from "@/lib/paths";
import { shell } from "@/texts/en/shell";
import { Menu } from "@/ui/Menu";
import { MAIN, ORGANIZATION } from "./navigation";

export function MoreMenu({ org }: { org: string }) {
  const router = useRouter();
  const entries = [...MAIN, ...ORGANIZATION].filter((entry) => !entry.phone);
  return (
    <Menu
      className="flex min-h-11 items-center justify-center py-2.5 text-12 text-ink2"
      items={[
        ...entries.map((entry) => ({ label: entry.label, onSelect: () => router.history.push(entry.to(org)) })),
        { label: shell.profile, onSelect: () => router.history.push(paths.me()) },
      ]}
    >
      {shell.more}
    </Menu>
  );
}
