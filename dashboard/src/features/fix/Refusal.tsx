// Why a fix was not accepted, with a link to what stands in its way.
import { useQuery } from "@tanstack/react-query";
import { fixQuery } from "@/api/fix";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { propose as texts } from "@/texts/en/fix";
import { Link } from "@/ui/Link";

type Props = { org: string; error: unknown; onLeave: () => void };

export function Refusal({ org, error, onLeave }: Props) {
  const code = error instanceof Problem ? error.code : undefined;
  const live = error instanceof Problem && code === "fix_exists" ? error.body.fixId : undefined;
  return (
    <>
      <ProblemPanel error={error} />
      {typeof live === "string" && <LiveFix org={org} id={live} onLeave={onLeave} />}
      {code === "forge_not_connected" && (
        <Link to={paths.forges(org)} className="self-start underline">
          {texts.showForges}
        </Link>
      )}
    </>
  );
}

/** It is shown with the deployment that it was proposed for: this one, or another that has failed in the same way. */
function LiveFix({ org, id, onLeave }: { org: string; id: string; onLeave: () => void }) {
  const fix = useQuery(fixQuery(org, id)).data;
  if (!fix) return null;
  return (
    <Link
      to={paths.deployment(org, fix.deploymentId, { stage: fix.stage })}
      className="self-start underline"
      onClick={onLeave}
    >
      {texts.showLive}
    </Link>
  );
}
