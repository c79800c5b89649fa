// How much a model may be used, and the prices that its cost is computed from.
import { settings as texts } from "@/texts/en/analysisSettings";
import { Field } from "@/ui/Field";
import type { Form, Mistake } from "./form";

type Name = "requestsPerDay" | "tokensPerMonth" | "inputPrice" | "outputPrice" | "costPerMonth";

type Props = {
  form: Form;
  onChange: (next: Partial<Form>) => void;
  errorOf: (mistake: Mistake, pointer: string) => string | undefined;
};

const FIELDS: { name: Name; pointer: string; hint?: string }[] = [
  { name: "requestsPerDay", pointer: "/maxRequestsPerDay" },
  { name: "tokensPerMonth", pointer: "/maxTokensPerMonth", hint: texts.tokensHint },
  { name: "inputPrice", pointer: "/inputPriceMicros", hint: texts.priceHint },
  { name: "outputPrice", pointer: "/outputPriceMicros", hint: texts.priceHint },
  { name: "costPerMonth", pointer: "/maxCostMicrosPerMonth", hint: texts.costHint },
];
const WHOLE_NUMBERS: readonly Name[] = ["requestsPerDay", "tokensPerMonth"];

export function LimitFields({ form, onChange, errorOf }: Props) {
  // Shown with the cost, though the prices are missing.
  const noPrices = errorOf("noPrices", "");
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="text-16 font-strong">{texts.limits}</legend>
      <p className="mt-1 text-13 text-ink2">{texts.limitsHint}</p>
      <div className="grid gap-4 md:grid-cols-2">
        {FIELDS.map(({ name, pointer, hint }) => (
          <Field
            key={name}
            label={texts[name]}
            hint={hint}
            inputMode={WHOLE_NUMBERS.includes(name) ? "numeric" : "decimal"}
            autoComplete="off"
            maxLength={16}
            error={(name === "costPerMonth" ? noPrices : undefined) ?? errorOf(name, pointer)}
            value={form[name]}
            onChange={(event) => onChange({ [name]: event.target.value })}
          />
        ))}
      </div>
    </fieldset>
  );
}
