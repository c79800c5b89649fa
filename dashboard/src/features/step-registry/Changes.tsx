// What has changed between two versions of a step: its files, and the text of step.yaml.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { stepDiffQuery } from "@/api/registryStep";
import type { StepDiff } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { cx } from "@/lib/classes";
import type { StepRef } from "@/lib/paths";
import { stepDiff as texts } from "@/texts/en/registryStep";
import { SkeletonRows } from "@/ui/Skeleton";
import { type DiffLine, diffLines, type FileChange, fileChanges } from "./diff";
import { VersionSelect } from "./VersionSelect";

const ROUTE = "/o/$org/step-registries/$registry/steps/$step";

type Props = { place: StepRef; to: string; from: string | undefined };

export function Changes({ place, to, from }: Props) {
  const navigate = useNavigate({ from: ROUTE });
  const diff = useQuery(stepDiffQuery(place, to, from));
  const show = (next: { version: string; from: string | undefined }) =>
    void navigate({ search: { view: "changes", ...next } });
  return (
    <>
      <div className="mb-4 flex flex-wrap gap-x-4 gap-y-2">
        <VersionSelect
          place={place}
          label={texts.from}
          value={from ?? ""}
          none={texts.before}
          onChange={(version) => show({ version: to, from: version || undefined })}
        />
        <VersionSelect place={place} label={texts.to} value={to} onChange={(version) => show({ version, from })} />
      </div>
      {diff.isPending && <SkeletonRows rows={3} />}
      {diff.error && !diff.data && <ProblemPanel error={diff.error} onRetry={() => void diff.refetch()} />}
      {diff.data && <Difference diff={diff.data} />}
    </>
  );
}

function Difference({ diff }: { diff: StepDiff }) {
  const files = fileChanges(diff.files);
  const lines = diffLines(diff.manifest);
  return (
    <>
      <h2 className="mb-1 text-16">
        {diff.from ? texts.between(diff.from.version, diff.to.version) : texts.allOf(diff.to.version)}
      </h2>
      {!diff.from && <p className="mb-2 text-13 text-ink2">{texts.first}</p>}
      <section aria-label={texts.files} className="mb-6">
        <h3 className="mb-1 text-14">{texts.files}</h3>
        {files.length === 0 && <p className="text-ink2">{texts.sameFiles}</p>}
        <ul className="flex flex-col gap-1">
          {files.map((file) => (
            <FileLine key={file.path} file={file} />
          ))}
        </ul>
        {files.some(({ path, kind }) => kind === "changed" && path !== "step.yaml") && (
          <p className="mt-2 text-13 text-ink3">{texts.onlySums}</p>
        )}
      </section>
      <section>
        <h3 className="mb-1 text-14">{texts.manifest}</h3>
        {lines.length === 0 ? <p className="text-ink2">{texts.sameManifest}</p> : <Lines lines={lines} />}
      </section>
    </>
  );
}

const TONES: Record<FileChange["kind"], string> = { added: "text-green", removed: "text-red", changed: "text-blue" };

function FileLine({ file: { path, kind, mode } }: { file: FileChange }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-3">
      <span className={cx("w-18 text-13 font-strong", TONES[kind])}>{texts[kind]}</span>
      <code className="text-12 break-all">{path}</code>
      {mode && <span className="text-12 text-ink3">{texts.mode(mode.before, mode.after)}</span>}
    </li>
  );
}

const SIGNS: Record<DiffLine["kind"], string> = { added: "+", removed: "-", same: " ", place: "" };
const LOOKS: Record<DiffLine["kind"], string> = {
  added: "bg-green-soft text-green",
  removed: "bg-red-soft text-red",
  same: "text-ink2",
  place: "text-ink3",
};

/** It scrolls by itself, so it can be focused. The signs are part of the text, for those who do not see the colors. */
function Lines({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <pre
      role="region"
      aria-label={texts.manifest}
      tabIndex={0}
      className="overflow-x-auto rounded-4 border border-line bg-surface py-2 font-mono text-12"
    >
      <code className="block w-max min-w-full">
        {lines.map(({ kind, text }, index) => (
          <span key={index} className={cx("block px-3", LOOKS[kind])}>
            {SIGNS[kind]}
            {text}
            {"\n"}
          </span>
        ))}
      </code>
    </pre>
  );
}
