// The names of the controls that a value is entered in.
export const NAMES = { text: "secret-text", file: "secret-file" } as const;
