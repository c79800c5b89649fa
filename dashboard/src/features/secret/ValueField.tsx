// Where a value is entered: a text, or a file. The controls are not controlled by React, so that no state has the value.
import { useState } from "react";
import { secret as texts } from "@/texts/en/secret";
import { Field, TextArea } from "@/ui/Field";
import { Segments } from "@/ui/Segments";
import { NAMES } from "./fields";
import type { ValueMistake } from "./value";

type Props = { mistake: ValueMistake | undefined; error?: string };

export function ValueField({ mistake, error }: Props) {
  const [form, setForm] = useState<"text" | "file">("text");
  const shown = mistake ? texts.mistakes[mistake] : error;
  return (
    <>
      <div>
        <Segments
          label={texts.form}
          value={form}
          onChange={setForm}
          segments={[
            { value: "text", label: texts.forms.text },
            { value: "file", label: texts.forms.file },
          ]}
        />
      </div>
      {form === "text" ? (
        <TextArea
          label={texts.value}
          hint={texts.valueHint}
          error={shown}
          name={NAMES.text}
          rows={3}
          className="font-mono text-13"
          autoComplete="off"
          autoCapitalize="off"
          autoCorrect="off"
          // Some browsers send what they check to a server.
          spellCheck={false}
        />
      ) : (
        <Field
          label={texts.file}
          hint={texts.fileHint}
          error={shown}
          name={NAMES.file}
          type="file"
          className="py-[calc((var(--row)-26px)/2)] text-13 file:mr-3 file:rounded-4 file:border file:border-control file:bg-surface file:px-2 file:py-0.5 file:text-ink"
        />
      )}
    </>
  );
}
