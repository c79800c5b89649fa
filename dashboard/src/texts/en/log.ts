// The log viewer.
import { count, plural } from "./number";

export const log = {
  title: (step: string) => `Log of ${step}`,
  find: "Find in the log",
  matches: (index: number, total: number) => (total === 0 ? "no match" : `${count(index)} of ${count(total)}`),
  next: "Next match",
  previous: "Previous match",
  follow: "Follow",
  download: "Raw",
  copyLink: "Copy link",
  copied: "The link was copied",
  notCopied: "The browser did not allow copying. Copy the address instead.",
  empty: "No output.",
  waiting: "No output yet.",
  newLines: (lines: number) => plural(lines, "new line"),
  expired: "Logs are kept 90 days. This one was deleted.",
  line: (number: number) => `Line ${count(number)}`,
};
