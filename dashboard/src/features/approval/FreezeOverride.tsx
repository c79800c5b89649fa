// For admins: lets a stage begin that waits for a freeze, and for no approval.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { keys } from "@/api/keys";
import { meQuery } from "@/api/me";
import type { Deployment } from "@/api/types";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { override as texts } from "@/texts/en/approval";
import { Button } from "@/ui/Button";
import { gatesOf } from "./standing";

const OverrideDialog = lazily(() => import("./OverrideDialog"), "OverrideDialog");

type Props = { org: string; deployment: Deployment; stage: string };

export function FreezeOverride({ org, deployment, stage }: Props) {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const role = useQuery(meQuery(org)).data?.role;
  const gates = gatesOf(deployment, stage);
  if (role === undefined || !hasRole(role, "admin") || gates.length === 0) return null;
  return (
    <div className="mb-4">
      <Button className="max-md:w-full" onClick={() => setOpen(true)}>
        {texts.action}
      </Button>
      <Suspense>
        {isOpen && (
          <OverrideDialog
            org={org}
            deployment={deployment.id}
            stage={stage}
            gates={gates}
            onDone={() => void queries.invalidateQueries({ queryKey: keys.deployment(org, deployment.id) })}
            onClose={() => setOpen(false)}
          />
        )}
      </Suspense>
    </div>
  );
}
