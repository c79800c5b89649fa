// Search parameters are plain texts. The router's own format would read a commit such as `1234e56` as a number.

export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}
