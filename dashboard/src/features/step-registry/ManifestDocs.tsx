// The documentation of a step, rendered from its step.yaml: an example, inputs, secrets, id tokens, outputs, the image and the script.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { Problem } from "@/api/problem";
import { resolveStepQuery } from "@/api/registryStep";
import type { RegistryStepVersionDetail, StepRegistry } from "@/api/types";
import type { StepRef } from "@/lib/paths";
import { step as texts } from "@/texts/en/registryStep";
import { Copyable } from "@/ui/Copyable";
import { exampleOf, referenceOf } from "./example";
import { ExpectedTable, OutputTable } from "./ExpectedTable";
import { InputTable } from "./InputTable";
import { readManifest } from "./manifest";
import { Quoted } from "./Quoted";

type Props = { place: StepRef; registry: StepRegistry; version: RegistryStepVersionDetail; isNewest: boolean };

const PRE = "max-h-96 overflow-auto rounded-4 bg-sunken p-3 font-mono text-12";

export function ManifestDocs({ place, registry, version, isNewest }: Props) {
  const manifest = useMemo(() => readManifest(version.manifest), [version.manifest]);
  const reference = referenceOf(registry.name, version.name, version.version, isNewest);
  if (!manifest)
    return (
      <section>
        <h2 className="text-16">{texts.notReadable}</h2>
        <p className="mb-2 text-ink2">{texts.notReadableText}</p>
        <Code label={texts.manifest} text={version.manifest} />
      </section>
    );
  return (
    <div className="flex flex-col gap-6">
      <section>
        <Copyable lines label={texts.example} text={exampleOf(version.name, reference, manifest)} />
        {!registry.deletedAt && registry.status !== "disabled" && <Resolved place={place} reference={reference} />}
      </section>
      <Section title={texts.inputs}>
        {manifest.inputs.length > 0 ? <InputTable inputs={manifest.inputs} /> : <None text={texts.noInputs} />}
      </Section>
      {manifest.secrets.length > 0 && (
        <Section title={texts.secrets} text={texts.secretsText}>
          <ExpectedTable label={texts.secrets} expected={manifest.secrets} />
        </Section>
      )}
      {manifest.idTokens.length > 0 && (
        <Section title={texts.idTokens} text={texts.idTokensText}>
          <ExpectedTable label={texts.idTokens} expected={manifest.idTokens} />
        </Section>
      )}
      {manifest.outputs.length > 0 && (
        <Section title={texts.outputs} text={texts.outputsText}>
          <OutputTable outputs={manifest.outputs} />
        </Section>
      )}
      <Section title={texts.image}>
        <code className="text-12 break-all">{manifest.image}</code>
      </Section>
      <details>
        <summary className="min-h-row py-1.5">
          <h2 className="inline text-16">{texts.script}</h2>
        </summary>
        <Code label={texts.script} text={manifest.run} />
      </details>
    </div>
  );
}

/** What the reference of the example means now, or why it means nothing. */
function Resolved({ place, reference }: { place: StepRef; reference: string }) {
  const resolved = useQuery({ ...resolveStepQuery(place, reference), retry: false });
  const problem = resolved.error instanceof Problem ? resolved.error : undefined;
  if (resolved.data)
    return <p className="mt-1 text-13 text-ink2">{texts.resolves(reference, resolved.data.version)}</p>;
  const detail = problem?.field("/uses");
  if (!detail) return null;
  return (
    <p className="mt-1 text-13 wrap-anywhere text-amber">
      {texts.unresolved(reference)}
      <Quoted text={detail} />
    </p>
  );
}

function Section({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className="mb-1 text-16">{title}</h2>
      {text && <p className="mb-2 max-w-prose text-13 text-ink2">{text}</p>}
      {children}
    </section>
  );
}

function None({ text }: { text: string }) {
  return <p className="text-ink2">{text}</p>;
}

/** It scrolls by itself, so it can be focused. */
function Code({ label, text }: { label: string; text: string }) {
  return (
    <pre role="region" aria-label={label} tabIndex={0} className={PRE}>
      {text}
    </pre>
  );
}
