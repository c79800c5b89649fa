// What a change of rights ends.
import { plural } from "./number";

export const ending = {
  checking: "Reading what would end",
  refused: "It would be refused",
  nothing: "No session ends.",
  ends: (sessions: number) => `${plural(sessions, "session")} end${sessions === 1 ? "s" : ""}:`,
  holds: "holds",
  waits: "waits for",
  more: "There may be more.",
};
