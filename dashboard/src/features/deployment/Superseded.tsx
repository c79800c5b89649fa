// Names the environments in which a newer deployment was first, so that stages of this one did not begin there.
import type { Deployment } from "@/api/types";
import { superseded as texts } from "@/texts/en/deployment";
import { outdatedIn } from "./pick";

export function Superseded({ deployment }: { deployment: Deployment }) {
  const environments = outdatedIn(deployment);
  if (environments.length === 0) return null;
  return <p className="mb-4 rounded-6 bg-slate-soft px-3 py-2 text-slate">{texts.outdated(environments.join(", "))}</p>;
}
