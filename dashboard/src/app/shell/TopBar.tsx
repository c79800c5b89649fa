// Breadcrumbs, the live lamp, and the menu of the person.
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { keys } from "@/api/keys";
import { organizationQuery } from "@/api/me";
import { pipelineQuery } from "@/api/pipeline";
import type { Me } from "@/api/types";
import { cx } from "@/lib/classes";
import { lazily } from "@/lib/lazily";
import { Face } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { crumbsOf, pipelineOf, registryOf } from "./crumbs";
import { LiveLamp } from "./LiveLamp";

const PersonMenu = lazily(() => import("./PersonMenu"), "PersonMenu");

const CrumbMenu = lazily(() => import("./CrumbMenu"), "CrumbMenu");

type Props = { org: string; me: Me; pathname: string; onShowKeys: () => void };

export function TopBar({ org, me, pathname, onShowKeys }: Props) {
  const organization = useQuery(organizationQuery(org));
  const slug = pipelineOf(pathname);
  const pipeline = useQuery({ ...pipelineQuery(org, slug ?? ""), enabled: slug !== undefined, retry: false });
  // The page of the registry reads it.
  const registryKey = keys.stepRegistry(org, registryOf(pathname) ?? "");
  const registry = useQuery<{ name: string }>({ queryKey: registryKey, enabled: false });
  const names = { org: organization, pipeline, registry };
  const crumbs = crumbsOf(pathname, (kind) => names[kind].data?.name);
  return (
    <header className="mb-2 flex min-h-8 items-center gap-3">
      <nav aria-label="Breadcrumbs" className="min-w-0 flex-1 truncate text-13 text-ink3">
        {crumbs.map((crumb, index) => {
          const isLast = index === crumbs.length - 1;
          return (
            <span key={crumb.to + crumb.label}>
              {index > 0 && " / "}
              <Link
                to={crumb.to}
                aria-current={isLast ? "page" : undefined}
                className={cx("hover:text-ink hover:underline", isLast && "font-strong text-ink")}
              >
                {crumb.label}
              </Link>
              {crumb.siblings && (
                <Suspense>
                  <CrumbMenu org={org} me={me} label={crumb.label} siblings={crumb.siblings} />
                </Suspense>
              )}
            </span>
          );
        })}
      </nav>
      <LiveLamp />
      <Suspense fallback={<Face name={me.name} kind="user" />}>
        <PersonMenu me={me} onShowKeys={onShowKeys} />
      </Suspense>
    </header>
  );
}
