// Names the environments in which a newer deployment was first, so that stages of this one did not begin there.
import type { Deployment } from "@/api/types";
import { paths } from "@/lib/paths";
import { superseded as texts } from "@/texts/en/deployment";
import { Link } from "@/ui/Link";
import { outdatedIn } from "./pick";

export function Superseded({ org, deployment }: { org: string; deployment: Deployment }) {
  const environments = outdatedIn(deployment);
  if (environments.length === 0) return null;
  return (
    <p className="mb-4 rounded-6 bg-slate-soft px-3 py-2 text-slate">
      {texts.outdated(environments.join(", "))}
      {environments.map((name) => (
        <Link
          key={name}
          to={paths.lastingEnvironment({ org, pipeline: deployment.pipeline, name })}
          className="ml-1.5 underline"
        >
          {texts.showEnvironment(name)}
        </Link>
      ))}
    </p>
  );
}
