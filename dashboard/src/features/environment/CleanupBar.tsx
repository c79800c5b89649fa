// A notice that the last clean-up failed. The environment can be claimed; maintainers repeat or give up the clean-up.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { type EnvironmentRef, repeatCleanup } from "@/api/environment";
import { keys } from "@/api/keys";
import type { Environment, Role } from "@/api/types";
import { showProblem } from "@/features/problem";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { cleanup as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { showToast } from "@/ui/toasts";

const GiveUpDialog = lazily(() => import("./GiveUpDialog"), "GiveUpDialog");

type Props = { at: EnvironmentRef; failed: NonNullable<Environment["cleanupFailed"]>; role: Role };

export function CleanupBar({ at, failed, role }: Props) {
  const settled = useSettled(at);
  const [isGivingUp, setGivingUp] = useState(false);
  const repeat = useMutation({
    mutationFn: () => repeatCleanup(at),
    onSuccess: () => showToast({ title: texts.repeated(at.env) }),
    onError: showProblem,
    onSettled: settled,
  });
  const why = hasRole(role, "maintainer") ? undefined : texts.maintainersOnly;
  return (
    <div
      role="status"
      className="mb-4 flex flex-wrap items-center gap-3 rounded-6 bg-amber-soft px-3 py-2 font-strong text-amber"
    >
      <p className="min-w-48 flex-1">
        {texts.failed(failed.reason.replaceAll("_", " "))}{" "}
        <Link to={paths.deployment(at.org, failed.deploymentId)} className="underline">
          {texts.show}
        </Link>
      </p>
      <Button busy={repeat.isPending} why={why} onClick={() => repeat.mutate()}>
        {texts.repeat}
      </Button>
      <Button why={why} onClick={() => setGivingUp(true)}>
        {texts.giveUp}
      </Button>
      <Suspense>
        {isGivingUp && <GiveUpDialog at={at} onSettled={settled} onClose={() => setGivingUp(false)} />}
      </Suspense>
    </div>
  );
}

/** A clean-up that was given up or repeated changes the environment, and the sessions that show it. */
function useSettled({ org, pipeline, env }: EnvironmentRef): () => void {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: keys.environment(org, pipeline, env) });
    void queries.invalidateQueries({ queryKey: keys.environments(org, pipeline) });
    void queries.invalidateQueries({ queryKey: ["org", org, "session"] });
  };
}
