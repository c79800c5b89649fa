// What a member has written about failures with one fingerprint. Developers write it; everybody reads it.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { writeNote } from "@/api/failure";
import { keys } from "@/api/keys";
import { meQuery } from "@/api/me";
import type { FailureNote } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { hasRole } from "@/lib/roles";
import { visible } from "@/lib/visible";
import { useNow } from "@/lib/ticker";
import { note as texts } from "@/texts/en/failure";
import { ago } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";

const MAX_LENGTH = 2_000;

type Props = { org: string; fingerprint: string; note: FailureNote | null | undefined };

export function Note({ org, fingerprint, note }: Props) {
  const role = useQuery(meQuery(org)).data?.role;
  const now = useNow("half-minute");
  const [isEditing, setEditing] = useState(false);
  if (isEditing) return <NoteForm org={org} fingerprint={fingerprint} note={note} onDone={() => setEditing(false)} />;
  const why = role !== undefined && !hasRole(role, "developer") ? texts.developersWrite : undefined;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {note ? (
        <p className="min-w-0">
          <bdi className="whitespace-pre-wrap wrap-anywhere">{visible(note.text)}</bdi>{" "}
          <span className="text-13 text-ink3">
            {texts.by(note.writtenBy.name, ago(Date.parse(note.writtenAt), now))}
          </span>
        </p>
      ) : (
        <span className="text-ink2">{texts.none}</span>
      )}
      <Button look="quiet" why={why} onClick={() => setEditing(true)}>
        {note ? texts.edit : texts.write}
      </Button>
    </div>
  );
}

function NoteForm({ org, fingerprint, note, onDone }: Props & { onDone: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState(note?.text ?? "");
  const form = useRef<HTMLFormElement>(null);
  // The button that opened it is gone.
  useEffect(() => form.current?.querySelector("textarea")?.focus(), []);
  const save = useMutation({
    mutationFn: () => writeNote(org, fingerprint, text),
    onSuccess: (written) => {
      showToast({ title: written ? texts.saved : texts.deleted });
      onDone();
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.failures(org) });
      // The note is part of the evidence of each deployment with this failure.
      void queries.invalidateQueries({ queryKey: keys.everyEvidence(org) });
    },
  });
  return (
    <form
      ref={form}
      className="flex max-w-prose flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (!save.isPending) save.mutate();
      }}
    >
      <TextArea
        label={texts.label}
        hint={texts.hint}
        maxLength={MAX_LENGTH}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {save.error && <ProblemPanel error={save.error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={save.isPending}>
          {texts.save}
        </Button>
        <Button onClick={onDone}>{texts.cancel}</Button>
      </div>
    </form>
  );
}
