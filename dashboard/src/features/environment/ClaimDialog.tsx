// Claim an environment: nothing has to be filled in, so that two clicks, or `c` and Enter, are enough.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Problem } from "@/api/problem";
import { claimSession } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { common } from "@/texts/en/common";
import { environment as texts } from "@/texts/en/environment";
import { coarse } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import type { DialogProps } from "./BoardDialog";
import { CommitFields } from "./CommitFields";
import { bodyOf, mistakeOf, NO_COMMIT } from "./commit";
import { configurationOf } from "./configuration";
import { durationsUpTo } from "./durations";

export function ClaimDialog({ org, pipeline, environment, onDone, onClose }: DialogProps) {
  const { template } = environment;
  const [name, setName] = useState(template ? environment.envName.replace("*", "") : "");
  const envName = template ? name : environment.envName;
  const { leaseDefault, leaseMax } = configurationOf(environment);
  const [context, setContext] = useState("");
  const [commit, setCommit] = useState(NO_COMMIT);
  const [ttlSeconds, setTtlSeconds] = useState(leaseDefault);
  const [isTouched, setTouched] = useState(false);
  const claim = useMutation({
    mutationFn: () =>
      claimSession(
        { org, pipeline, env: envName },
        { ...(commit.commitId && bodyOf(commit)), context: context || undefined, ttlSeconds },
      ),
    onSuccess: (session) => {
      onDone(session);
      onClose();
      showToast({ title: texts.claimed(envName) });
    },
  });
  const problem = claim.error instanceof Problem ? claim.error : undefined;
  const submit = () => {
    setTouched(true);
    if (!mistakeOf(commit, true) && !claim.isPending) claim.mutate();
  };
  return (
    <Dialog open onClose={onClose} title={`${texts.claim} ${environment.envName}`}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {template && (
          <Field
            label={texts.templateName}
            hint={texts.templateHint(environment.envName)}
            error={problem?.field("/envName")}
            required
            maxLength={63}
            value={name}
            className="font-mono"
            onChange={(event) => setName(event.target.value.trim())}
          />
        )}
        <Field
          label={texts.purpose}
          hint={texts.purposeHint}
          maxLength={500}
          value={context}
          onChange={(event) => setContext(event.target.value)}
        />
        <CommitFields
          isOptional
          org={org}
          pipeline={pipeline}
          commit={commit}
          onChange={setCommit}
          isTouched={isTouched}
          problem={problem}
        />
        <Select label={texts.time} value={ttlSeconds} onChange={(event) => setTtlSeconds(Number(event.target.value))}>
          {durationsUpTo(leaseMax, leaseDefault).map((seconds) => (
            <option key={seconds} value={seconds}>
              {coarse(seconds * 1_000)}
            </option>
          ))}
        </Select>
        {claim.error && (
          <ProblemPanel
            error={claim.error}
            onDone={() => {
              onDone(undefined);
              onClose();
            }}
          />
        )}
        <div className="flex gap-2 max-md:*:flex-1">
          <Button type="submit" look="primary" busy={claim.isPending}>
            {texts.claim}
          </Button>
          <Button look="quiet" onClick={onClose}>
            {common.cancel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
