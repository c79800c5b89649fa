// The menu of the person: theme, density, keys, sign out.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { signOut } from "@/api/signIn";
import type { Me } from "@/api/types";
import { showProblem } from "@/features/problem";
import { paths } from "@/lib/paths";
import { setPreference, type Theme, usePreferences } from "@/lib/preferences";
import { shell } from "@/texts/en/shell";
import { Face } from "@/ui/Face";
import { Menu, type MenuItem } from "@/ui/Menu";

const THEMES: readonly Theme[] = ["system", "light", "dark"];

type Props = { me: Me; onShowKeys: () => void };

export function PersonMenu({ me, onShowKeys }: Props) {
  const { theme, density, keys } = usePreferences();
  const isCompact = density === "compact";
  const queries = useQueryClient();
  const router = useRouter();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      queries.clear();
      // A new page, so that nothing of the person stays in memory.
      location.assign(paths.signIn());
    },
    onError: showProblem,
  });
  const items: MenuItem[] = [
    ...THEMES.map((value) => ({
      label: `${shell.theme}: ${shell.themes[value]}`,
      checked: theme === value,
      onSelect: () => setPreference("theme", value),
    })),
    {
      label: shell.densities.compact,
      checked: isCompact,
      onSelect: () => setPreference("density", isCompact ? "auto" : "compact"),
    },
    {
      label: shell.keys,
      checked: keys === "on",
      onSelect: () => setPreference("keys", keys === "on" ? "off" : "on"),
    },
    { label: shell.profile, onSelect: () => router.history.push(paths.me()) },
    { label: shell.showKeys, onSelect: onShowKeys },
    { label: shell.signOut, onSelect: () => leave.mutate() },
  ];
  return (
    <Menu className="relative grid size-row place-items-center rounded-full" label={me.name} items={items}>
      <Face name={me.name} kind="user" />
    </Menu>
  );
}
