// Amounts of money: the API has millionths of a currency, the form a decimal number. Pure.

const MICROS = 1_000_000;
const AMOUNT = /^\d{1,9}(\.\d{1,6})?$/;

/** `0.25` as `250000`; `undefined` if it is not an amount. */
export function microsOf(text: string): number | undefined {
  const amount = text.trim();
  return AMOUNT.test(amount) ? Math.round(Number(amount) * MICROS) : undefined;
}

/** `250000` as `0.25`, without digits that say nothing. */
export function amountOf(micros: number): string {
  return (micros / MICROS).toFixed(6).replace(/\.?0+$/, "");
}
