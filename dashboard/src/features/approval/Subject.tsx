// What exactly runs: commit, steps, what it gets from earlier stages, and the digest that a vote is for.
import type { ApprovalDetails } from "@/api/types";
import { approval as texts } from "@/texts/en/approval";
import { Facts } from "@/ui/Table";

export function Subject({ approval }: { approval: ApprovalDetails }) {
  const { subject, subjectDigest } = approval;
  const facts = [
    { name: texts.commit, value: <code className="text-12 break-all">{subject.commitId}</code> },
    subject.branch && { name: texts.branch, value: <code className="text-12 break-all">{subject.branch}</code> },
    subject.environment && { name: texts.environment, value: subject.environment },
    { name: texts.steps, value: <Steps steps={subject.steps} /> },
    subject.needs.length > 0 && { name: texts.inputs, value: <Inputs needs={subject.needs} /> },
    subject.caches.length > 0 && { name: texts.caches, value: <Caches caches={subject.caches} /> },
    { name: texts.secrets, value: subject.secrets.length > 0 ? subject.secrets.join(", ") : texts.noSecrets },
    { name: texts.definition, value: <code className="text-12 break-all text-ink2">{subject.definition}</code> },
    {
      name: texts.digest,
      value: (
        <>
          <code className="text-12 break-all text-ink2">{subjectDigest}</code>
          <p className="text-13 text-ink3">{texts.digestHint}</p>
        </>
      ),
    },
  ];
  return (
    <section aria-label={texts.whatRuns}>
      <h3 className="mb-2 text-16">{texts.whatRuns}</h3>
      <Facts facts={facts.filter((fact) => typeof fact === "object" && fact !== null)} />
    </section>
  );
}

function Steps({ steps }: { steps: ApprovalDetails["subject"]["steps"] }) {
  return (
    <ol className="flex flex-col gap-1">
      {steps.map((step, index) => (
        <li key={`${step.name ?? ""}-${index}`} className="flex flex-wrap items-baseline gap-x-2">
          <span className="font-strong">{step.name ?? texts.unnamedStep(index + 1)}</span>
          <code className="text-12 break-all text-ink2">{step.uses ?? step.image}</code>
          {step.unpinned && (
            <span title={texts.unpinnedHint} className="rounded-full bg-amber-soft px-2 text-12 font-bold text-amber">
              {texts.unpinned}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

function Inputs({ needs }: { needs: ApprovalDetails["subject"]["needs"] }) {
  return (
    <ul className="flex flex-col gap-1">
      {needs.map(({ stage, artifact }) => (
        <li key={stage}>
          <span className="font-strong">{stage}</span>{" "}
          {artifact ? (
            <>
              <span className="text-13 text-ink2">{texts.artifact}</span>{" "}
              <code className="text-12 break-all text-ink2">{artifact}</code>
            </>
          ) : (
            <span className="text-13 text-ink2">{texts.noArtifact}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Caches({ caches }: { caches: ApprovalDetails["subject"]["caches"] }) {
  return (
    <ul className="flex flex-col gap-1">
      {caches.map(({ key, sha256 }) => (
        <li key={key}>
          <span className="font-strong">{key}</span> <code className="text-12 break-all text-ink2">{sha256}</code>
        </li>
      ))}
    </ul>
  );
}
