// The siblings of a breadcrumb, as a menu. They are read when it is opened.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import { useState } from "react";
import { environmentsQuery } from "@/api/environment";
import { lastingOfPipelineQuery } from "@/api/lasting";
import { pipelinesQuery } from "@/api/pipeline";
import type { Me } from "@/api/types";
import { paths } from "@/lib/paths";
import { common } from "@/texts/en/common";
import { shell } from "@/texts/en/shell";
import { Menu } from "@/ui/Menu";
import type { Siblings } from "./crumbs";
import { MAIN, ORGANIZATION } from "./navigation";
import { SETTINGS } from "./settings";

type Props = { org: string; me: Me; label: string; siblings: Siblings };
type Sibling = { id: string; label: string; to: string };

export function CrumbMenu({ org, me, label, siblings }: Props) {
  const router = useRouter();
  const [isOpen, setOpen] = useState(false);
  const pipelines = useQuery({ ...pipelinesQuery(org), enabled: isOpen && siblings.kind === "pipelines" });
  const environments = useQuery({
    ...environmentsQuery(org, siblings.kind === "environments" ? siblings.pipeline : ""),
    enabled: isOpen && siblings.kind === "environments",
  });
  const lasting = useQuery({
    ...lastingOfPipelineQuery(org, siblings.kind === "lasting" ? siblings.pipeline : ""),
    enabled: isOpen && siblings.kind === "lasting",
  });
  const list = (): Sibling[] | undefined => {
    switch (siblings.kind) {
      case "organizations":
        return (me.organizations ?? []).map(({ id, slug }) => ({ id, label: slug, to: paths.home(slug) }));
      case "sections":
        return [...MAIN, ...ORGANIZATION].map((entry) => ({ id: entry.label, label: entry.label, to: entry.to(org) }));
      case "settings":
        return SETTINGS.map((entry) => ({ id: entry.label, label: entry.label, to: entry.to(org) }));
      case "pipelines":
        return pipelines.data?.data.map(({ id, slug, name }) => ({ id, label: name, to: paths.pipeline(org, slug) }));
      case "environments":
        return environments.data?.map(({ envName }) => ({
          id: envName,
          label: envName,
          to: paths.environment({ org, pipeline: siblings.pipeline, env: envName }),
        }));
      case "lasting":
        return lasting.data?.map(({ name }) => ({
          id: name,
          label: name,
          to: paths.lastingEnvironment({ org, pipeline: siblings.pipeline, name }),
        }));
    }
  };
  const error = pipelines.error ?? environments.error ?? lasting.error;
  const items = list()?.map(({ id, label: name, to }) => ({
    id,
    label: name,
    checked: name === label,
    onSelect: () => router.history.push(to),
  }));
  return (
    <Menu
      align="start"
      className="relative ml-0.5 inline-grid h-6 w-4 place-items-center rounded-4 align-middle hover:bg-sunken hover:text-ink max-md:hidden"
      label={shell.othersThan(label)}
      items={items ?? [{ label: error ? shell.notRead : common.loading, onSelect: () => undefined, why: " " }]}
      onOpen={() => setOpen(true)}
    >
      <ChevronsUpDown aria-hidden size={12} />
    </Menu>
  );
}
