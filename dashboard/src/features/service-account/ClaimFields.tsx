// The claims of a trust policy, each with its name and its value.
import { X } from "lucide-react";
import { useId } from "react";
import { trustPolicy as texts } from "@/texts/en/trustPolicy";
import { Button } from "@/ui/Button";
import type { Claim } from "./policy";

const MAX_CLAIMS = 16;
const INPUT = "min-h-row w-full min-w-0 rounded-6 border border-control bg-raised px-2.5 font-mono text-13";

type Props = { claims: readonly Claim[]; error: string | undefined; onChange: (claims: Claim[]) => void };

export function ClaimFields({ claims, error, onChange }: Props) {
  const id = useId();
  const set = (index: number, part: Partial<Claim>) =>
    onChange(claims.map((claim, place) => (place === index ? { ...claim, ...part } : claim)));
  return (
    <fieldset className="flex flex-col gap-2" aria-describedby={`${id}-hint`}>
      <legend className="text-13 font-strong">{texts.claims}</legend>
      <p id={`${id}-hint`} className="text-13 text-ink3">
        {texts.claimsHint}
      </p>
      {claims.map((claim, index) => (
        <div key={index} className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto] items-center gap-2">
          <input
            aria-label={texts.claimName(index + 1)}
            className={INPUT}
            maxLength={64}
            value={claim.name}
            onChange={(event) => set(index, { name: event.target.value })}
          />
          <input
            aria-label={texts.claimValue(index + 1)}
            className={INPUT}
            maxLength={512}
            value={claim.value}
            onChange={(event) => set(index, { value: event.target.value })}
          />
          <Button look="quiet" onClick={() => onChange(claims.filter((_, place) => place !== index))}>
            <X aria-hidden size={16} />
            <span className="sr-only">{texts.removeClaim(claim.name)}</span>
          </Button>
        </div>
      ))}
      {claims.length < MAX_CLAIMS && (
        <Button className="self-start" onClick={() => onChange([...claims, { name: "", value: "" }])}>
          {texts.addClaim}
        </Button>
      )}
      {error && (
        <p role="alert" className="text-13 text-red">
          {error}
        </p>
      )}
    </fieldset>
  );
}
