// The pages below Organization settings, for the menu of their breadcrumb. Apart from `navigation.ts`, because the menu is loaded
// when it is opened.
import { paths } from "@/lib/paths";
import { shell } from "@/texts/en/shell";
import type { Entry } from "./navigation";

export const SETTINGS: readonly Entry[] = [
  { label: shell.general, to: paths.general },
  { label: shell.members, to: paths.members },
  { label: shell.groups, to: paths.groups },
  { label: shell.serviceAccounts, to: paths.serviceAccounts },
  { label: shell.apiTokens, to: paths.apiTokens },
  { label: shell.secrets, to: paths.secrets },
  { label: shell.freezes, to: paths.freezes },
  { label: shell.forges, to: paths.forges },
  { label: shell.analysis, to: paths.analysisSettings },
];
