// Whose failure it is, what was changed, whether it was seen before, what it is about.
import type { ReactNode } from "react";
import type { FailureEvidence } from "@/api/types";
import { useNow } from "@/lib/ticker";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import {
  categoryWords,
  changeTexts,
  lastEndText,
  newLinesText,
  note as noteTexts,
  panel as texts,
  verdictSentence,
} from "@/texts/en/failure";
import { clock } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { Facts } from "@/ui/Table";
import { verdictState } from "@/ui/verdict";
import { silenceOf } from "./lines";
import { Note } from "./Note";

type Props = { org: string; failure: FailureEvidence; isMine: boolean };

export function FailureFacts({ org, failure, isMine }: Props) {
  const now = useNow("half-minute");
  const { verdict, changes, known, category, log } = failure;
  const silence = silenceOf(failure);
  const facts: (false | null | undefined | { name: string; value: ReactNode })[] = [
    verdict && {
      name: texts.whose,
      value: (
        <>
          <StateMark state={verdictState(verdict.kind, isMine)} />
          <span className="ml-2">{verdictSentence(verdict, now)}</span>{" "}
          {verdict.lastGood && (
            <Link to={paths.deployment(org, verdict.lastGood.deploymentId)} className="text-13 text-ink2 underline">
              {texts.showGood}
            </Link>
          )}
        </>
      ),
    },
    changes && { name: texts.changed, value: <Changed changes={changes} /> },
    known && { name: texts.seen, value: <Seen org={org} known={known} now={now} /> },
    category && {
      name: texts.about,
      value: [categoryWords[category] ?? category, log && newLinesText(log)].filter(Boolean).join(" · "),
    },
    silence !== undefined && { name: texts.silence, value: texts.silent(silence) },
    known && {
      name: noteTexts.title,
      value: <Note org={org} fingerprint={known.fingerprint} note={known.note} />,
    },
  ];
  return <Facts facts={facts.filter((fact) => typeof fact === "object" && fact !== null)} />;
}

const SHOWN_COMMITS = 5;

function Changed({ changes }: { changes: NonNullable<FailureEvidence["changes"]> }) {
  const commits = changes.commits?.list ?? [];
  return (
    <>
      {changeTexts(changes).join(" · ") || texts.changedNothing}
      {commits.length > 0 && (
        <ul className="mt-1 text-13 text-ink2">
          {commits.slice(0, SHOWN_COMMITS).map((commit) => (
            <li key={commit.commitId}>
              <code>{shortCommit(commit.commitId)}</code> <bdi>{commit.title}</bdi>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

type SeenProps = { org: string; known: NonNullable<FailureEvidence["known"]>; now: number };

function Seen({ org, known, now }: SeenProps) {
  const { count, firstAt, endedBy, fingerprint } = known;
  if (count <= 1) return texts.first;
  return (
    <>
      {texts.times(count, clock(Date.parse(firstAt), now))}
      {endedBy && (
        <>
          {"; "}
          <Link to={paths.deployment(org, endedBy.deploymentId)} className="underline">
            {lastEndText(endedBy)}
          </Link>
        </>
      )}
      {" · "}
      <Link to={paths.failure(org, fingerprint)} className="underline">
        {texts.all}
      </Link>
    </>
  );
}
