// Words that many screens share.
import { count } from "./number";

export const common = {
  tryAgain: "Try again",
  close: "Close",
  cancel: "Cancel",
  copy: "Copy",
  copied: "Copied",
  loading: "Loading",
  you: (name: string) => `${name} (you)`,
  requestId: "Request",
  newRows: (rows: number) => `${count(rows)} new`,
  actions: "Actions",
  pages: "Pages",
  previousPage: "Previous",
  nextPage: "Next",
  firstPage: "This is the first page",
  lastPage: "This is the last page",
  pageOf: (from: number, to: number, total: number) => `${count(from)}–${count(to)} of ${count(total)}`,
  skipToContent: "Skip to content",
  kinds: { user: "person", ci: "CI", agent: "agent" },
};
