// The minimum age of versions: a number and its unit.
import { useId } from "react";
import { registryForm as texts } from "@/texts/en/stepRegistry";
import { type Form, type Unit, UNIT_NAMES } from "./form";

type Props = { form: Form; error: string | undefined; onChange: (next: Partial<Form>) => void };

const CONTROL = "min-h-row rounded-6 border border-control bg-raised px-2.5 text-14 text-ink aria-invalid:border-red";

export function AgeFields({ form, error, onChange }: Props) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-13 font-strong">
        {texts.minimumAge}
      </label>
      <div className="flex gap-2">
        <input
          id={id}
          inputMode="numeric"
          maxLength={9}
          aria-invalid={error ? true : undefined}
          aria-describedby={`${id}-text`}
          className={`${CONTROL} w-24 tabular-nums`}
          value={form.age}
          onChange={(event) => onChange({ age: event.target.value })}
        />
        <select
          aria-label={texts.unit}
          className={CONTROL}
          value={form.unit}
          onChange={(event) => onChange({ unit: event.target.value as Unit })}
        >
          {UNIT_NAMES.map((unit) => (
            <option key={unit} value={unit}>
              {texts.units[unit]}
            </option>
          ))}
        </select>
      </div>
      <span id={`${id}-text`} className={error ? "text-13 text-red" : "text-13 text-ink3"}>
        {error ?? texts.minimumAgeHint}
      </span>
    </div>
  );
}
