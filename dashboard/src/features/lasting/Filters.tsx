// The filters of the table. They are part of the address, and the server applies them.
import { useEffect, useRef, useState } from "react";
import type { Pipeline } from "@/api/types";
import { isCommit } from "@/lib/ids";
import { lasting as texts } from "@/texts/en/lasting";
import { Filter } from "@/ui/Field";

type Search = { pipeline?: string; commit?: string };

type Props = {
  pipelines: readonly Pipeline[];
  pipeline: string | undefined;
  commit: string;
  onChange: (search: Search) => void;
};

export function Filters({ pipelines, pipeline, commit, onChange }: Props) {
  const [text, setText] = useState(commit);
  const sent = useRef(commit);
  // The address was changed elsewhere, such as by the button that shows all.
  useEffect(() => {
    if (commit === sent.current) return;
    sent.current = commit;
    setText(commit);
  }, [commit]);
  const isWrong = text !== "" && !isCommit(text);
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <Filter
        label={texts.commitFilter}
        maxLength={64}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={isWrong || undefined}
        value={text}
        onChange={(event) => {
          const next = event.target.value.trim().toLowerCase();
          setText(next);
          sent.current = isCommit(next) ? next : "";
          if (sent.current !== commit) onChange({ commit: sent.current || undefined });
        }}
      />
      <label className="flex items-center gap-2 text-13">
        {texts.filter}
        <select
          className="min-h-row max-w-60 min-w-0 rounded-6 border border-control bg-raised px-2"
          value={pipeline ?? ""}
          onChange={(event) => onChange({ pipeline: event.target.value || undefined })}
        >
          <option value="">{texts.allPipelines}</option>
          {pipelines.map(({ id, slug, name }) => (
            <option key={id} value={slug}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {isWrong && <p className="text-13 text-red">{texts.commitInvalid}</p>}
    </div>
  );
}
