// Find, follow and download, above a log.
import type { LogRef } from "@/api/log";
import { useKeys } from "@/lib/keys";
import { log as texts } from "@/texts/en/log";
import { Button, buttonClass } from "@/ui/Button";
import { Filter } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { downloadUrl } from "./load";
import type { Find } from "./useFind";

type Props = { at: LogRef; find: Find; isFollowing: boolean; isLive: boolean; onFollow: () => void };

export function LogTools({ at, find, isFollowing, isLive, onFollow }: Props) {
  useKeys({ f: onFollow, e: find.goToError, l: focusLog, y: () => void copyLink() });
  const index = find.current === undefined ? 0 : find.matches.indexOf(find.current) + 1;
  return (
    <div className="mb-2 flex flex-wrap items-center gap-2">
      <Filter
        label={texts.find}
        value={find.text}
        onChange={(event) => find.setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") find.go(event.shiftKey ? -1 : 1);
        }}
      />
      {find.text !== "" && (
        <>
          <span role="status" className="font-mono text-12 text-ink2">
            {texts.matches(index, find.matches.length)}
          </span>
          <Button aria-label={texts.previous} onClick={() => find.go(-1)}>
            ↑
          </Button>
          <Button aria-label={texts.next} onClick={() => find.go(1)}>
            ↓
          </Button>
        </>
      )}
      {isLive && (
        <Button aria-pressed={isFollowing} onClick={onFollow}>
          {texts.follow}
        </Button>
      )}
      <Button look="quiet" onClick={() => void copyLink()}>
        {texts.copyLink}
      </Button>
      <a href={downloadUrl(at)} download className={buttonClass("quiet")}>
        {texts.download}
      </a>
    </div>
  );
}

function focusLog(): void {
  document.querySelector<HTMLElement>("[role=log]")?.focus();
}

/** The address names the step, and the lines that are marked. */
async function copyLink(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
    showToast({ title: texts.copied });
  } catch {
    showToast({ title: texts.notCopied, tone: "bad" });
  }
}
