// How much a model may be used, and the prices that its cost is computed from.
import { settings as texts } from "@/texts/en/analysisSettings";
import { Field } from "@/ui/Field";
import type { Form, Mistake } from "./form";

type Props = {
  form: Form;
  onChange: (next: Partial<Form>) => void;
  errorOf: (mistake: Mistake, pointer: string) => string | undefined;
};

export function LimitFields({ form, onChange, errorOf }: Props) {
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="text-16 font-strong">{texts.limits}</legend>
      <p className="mt-1 text-13 text-ink2">{texts.limitsHint}</p>
      <div className="grid gap-4 md:grid-cols-2">
        <Field
          label={texts.requestsPerDay}
          inputMode="numeric"
          autoComplete="off"
          maxLength={16}
          error={errorOf("requestsPerDay", "/maxRequestsPerDay")}
          value={form.requestsPerDay}
          onChange={(event) => onChange({ requestsPerDay: event.target.value })}
        />
        <Field
          label={texts.tokensPerMonth}
          hint={texts.tokensHint}
          inputMode="numeric"
          autoComplete="off"
          maxLength={16}
          error={errorOf("tokensPerMonth", "/maxTokensPerMonth")}
          value={form.tokensPerMonth}
          onChange={(event) => onChange({ tokensPerMonth: event.target.value })}
        />
        <Field
          label={texts.inputPrice}
          hint={texts.priceHint}
          inputMode="decimal"
          autoComplete="off"
          maxLength={16}
          error={errorOf("inputPrice", "/inputPriceMicros")}
          value={form.inputPrice}
          onChange={(event) => onChange({ inputPrice: event.target.value })}
        />
        <Field
          label={texts.outputPrice}
          hint={texts.priceHint}
          inputMode="decimal"
          autoComplete="off"
          maxLength={16}
          error={errorOf("outputPrice", "/outputPriceMicros")}
          value={form.outputPrice}
          onChange={(event) => onChange({ outputPrice: event.target.value })}
        />
        <Field
          label={texts.costPerMonth}
          hint={texts.costHint}
          inputMode="decimal"
          autoComplete="off"
          maxLength={16}
          error={errorOf("noPrices", "") ?? errorOf("costPerMonth", "/maxCostMicrosPerMonth")}
          value={form.costPerMonth}
          onChange={(event) => onChange({ costPerMonth: event.target.value })}
        />
      </div>
    </fieldset>
  );
}
