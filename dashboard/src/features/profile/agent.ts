// The name of a browser and its system, from what the browser says about itself. Pure.

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b|\bX11\b/, "Linux"],
];

type Names = readonly (readonly [RegExp, string])[];

const nameIn = (names: Names, agent: string) => names.find(([pattern]) => pattern.test(agent))?.[1];

/** `undefined` if either is unknown: then the whole text is shown. */
export function browserOf(agent: string): { browser: string; system: string } | undefined {
  const [browser, system] = [nameIn(BROWSERS, agent), nameIn(SYSTEMS, agent)];
  return browser && system ? { browser, system } : undefined;
}
