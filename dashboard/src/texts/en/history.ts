// The history of an environment.
import { clock, coarse } from "./time";
import { plural } from "./number";

type Hold = {
  name: string;
  from: number;
  to: number;
  isLive: boolean;
  status: string;
  context: string | undefined;
  marks: readonly unknown[];
};

const ENDS: Record<string, string> = { expired: ", expired", overridden: ", taken over", canceled: ", canceled" };

export const history = {
  timeline: "Timeline of holds",
  showAll: (entries: number) => `Show all ${entries}`,
  title: "History",
  range: "Range",
  ranges: { "1": "24 h", "7": "7 d", "30": "30 d" },
  queueTitle: "In line",
  nobody: "Nobody waits.",
  waits: (milliseconds: number) => coarse(milliseconds),
  state: "State",
  who: "Who",
  since: "From",
  held: "Held",
  waited: "Waited",
  context: "What for",
  deployments: "Deployments",
  more: "Older holds",
  empty: "Nobody has held it yet.",
  /** One hold in one sentence, for screen readers and tooltips. */
  sentence: (hold: Hold) => {
    const start = clock(hold.from, Date.now());
    const length = coarse(hold.to - hold.from);
    const context = hold.context ? ` for “${hold.context}”` : "";
    const end = hold.isLive ? ", still held" : (ENDS[hold.status] ?? "");
    return `${hold.name} from ${start}, ${length}${context}, ${plural(hold.marks.length, "deployment")}${end}`;
  },
};

export const facts = {
  title: "Facts",
  url: "Page",
  labels: "Labels",
  lease: "Lease",
  leaseValue: (standard: string, longest: string) => `${standard}, ${longest} at most`,
  force: "Force",
  forceValue: (role: string) => `from ${role} on`,
  deployed: "Deployed",
  nothing: "nothing",
};
