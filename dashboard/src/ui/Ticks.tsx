// A group of check boxes.
type Props<Value extends string> = {
  legend: string;
  ticks: readonly { value: Value; label: string; why?: string }[];
  values: readonly Value[];
  error?: string;
  onChange: (values: Value[]) => void;
};

export function Ticks<Value extends string>({ legend, ticks, values, error, onChange }: Props<Value>) {
  const toggle = (value: Value) =>
    onChange(values.includes(value) ? values.filter((other) => other !== value) : [...values, value]);
  return (
    <fieldset className="flex flex-col">
      <legend className="text-13 font-strong">{legend}</legend>
      {ticks.map(({ value, label, why }) => (
        <label key={value} className="flex min-h-row items-center gap-2 text-13">
          <input
            type="checkbox"
            disabled={Boolean(why)}
            checked={values.includes(value) && !why}
            onChange={() => toggle(value)}
          />
          {label}
          {why && <span className="text-ink3">({why})</span>}
        </label>
      ))}
      {error && (
        <p role="alert" className="text-13 text-red">
          {error}
        </p>
      )}
    </fieldset>
  );
}
