// The files of a version, closed at first.
import type { RegistryStepVersionDetail } from "@/api/types";
import { count } from "@/texts/en/number";
import { step as texts } from "@/texts/en/registryStep";

const EXECUTABLE = "100755";

export function Files({ files }: Pick<RegistryStepVersionDetail, "files">) {
  return (
    <details className="mt-6">
      <summary className="min-h-row py-1.5">
        <h2 className="inline text-16">{texts.files}</h2>
        <span className="ml-2 text-13 text-ink2">{count(files.length)}</span>
      </summary>
      <ul className="mt-1 flex flex-col gap-1">
        {files.map(({ path, mode, sha256 }) => (
          <li key={path} title={sha256} className="flex flex-wrap items-baseline gap-x-3">
            <code className="text-12 break-all">{path}</code>
            {mode === EXECUTABLE && <span className="text-12 text-ink3">{texts.executable}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}
