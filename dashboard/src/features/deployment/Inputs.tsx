// What a stage got that other jobs have left.
import type { Stage } from "@/api/types";
import { deployment as texts } from "@/texts/en/deployments";

export function Inputs({ inputs }: { inputs: Stage["inputs"] }) {
  if (inputs.length === 0) return null;
  return (
    <details className="mb-2 text-13">
      <summary className="min-h-row py-1.5 text-ink2">{texts.inputs(inputs.length)}</summary>
      <ul className="flex flex-col gap-1 px-2">
        {inputs.map(({ kind, name, stage, pool, zone, sha256 }) => (
          <li key={`${kind} ${name}`}>
            <span className="font-strong">{name}</span>{" "}
            <span className="text-ink2">
              {kind === "artifact" ? texts.artifactFrom(pool) : texts.cacheFrom({ stage, pool, zone })}
            </span>{" "}
            <code className="text-12 break-all text-ink3" title={sha256}>
              {sha256.slice(0, 12)}
            </code>
          </li>
        ))}
      </ul>
    </details>
  );
}
