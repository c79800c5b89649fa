// Numbers and plurals in English.

const COUNT = new Intl.NumberFormat("en");
const PLURAL = new Intl.PluralRules("en", { type: "ordinal" });
const SUFFIX: Record<string, string> = { one: "st", two: "nd", few: "rd", other: "th" };

/** `1st`, `2nd`, `3rd`, `11th`. */
export function ordinal(number: number): string {
  return `${number}${SUFFIX[PLURAL.select(number)] ?? "th"}`;
}

export function count(number: number): string {
  return COUNT.format(number);
}

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `999`, `1.2K`: for places that have no room. */
export function shortCount(number: number): string {
  return SHORT.format(number);
}

/** `1 environment`, `3 environments`. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
