// The weekly windows of a freeze, and their time zone.
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { freeze as texts } from "@/texts/en/freeze";
import { Button } from "@/ui/Button";
import { Select } from "@/ui/Field";
import { DAYS, WEEKEND, type Window } from "./form";

const CONTROL = "min-h-row min-w-0 rounded-6 border border-control bg-raised px-2 text-14 text-ink";
/** The most that the API accepts. */
const MAX_WINDOWS = 50;

type Change = { windows?: readonly Window[]; zone?: string };

type Props = {
  windows: readonly Window[];
  zone: string;
  error: string | undefined;
  zoneError: string | undefined;
  onChange: (change: Change) => void;
};

export function WeeklyFields({ windows, zone, error, zoneError, onChange }: Props) {
  const set = (index: number, next: Partial<Window>) =>
    onChange({ windows: windows.map((window, other) => (other === index ? { ...window, ...next } : window)) });
  // Older names of zones, and UTC, are not among those that the browser lists.
  const zones = [...new Set([zone, "UTC", ...Intl.supportedValuesOf("timeZone")])].toSorted();
  return (
    <>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-13 font-strong">{texts.windows}</legend>
        {windows.map((window, index) => (
          // The windows have no ids, and nothing of a row is kept but what is in the window.
          // oxlint-disable-next-line no-array-index-key
          <WindowRow key={index} window={window} number={index + 1} onChange={(next) => set(index, next)}>
            <Button
              look="quiet"
              aria-label={texts.removeWindow(index + 1)}
              onClick={() => onChange({ windows: windows.filter((_, other) => other !== index) })}
            >
              <X aria-hidden size={16} />
            </Button>
          </WindowRow>
        ))}
        {error && (
          <p role="alert" className="text-13 text-red">
            {error}
          </p>
        )}
        {windows.length < MAX_WINDOWS && (
          <Button className="self-start" onClick={() => onChange({ windows: [...windows, WEEKEND] })}>
            {texts.addWindow}
          </Button>
        )}
      </fieldset>
      <Select
        label={texts.zone}
        hint={texts.zoneHint}
        error={zoneError}
        value={zone}
        onChange={(event) => onChange({ zone: event.target.value })}
      >
        {zones.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Select>
    </>
  );
}

type RowProps = {
  window: Window;
  number: number;
  onChange: (next: Partial<Window>) => void;
  children: ReactNode;
};

function WindowRow({ window, number, onChange, children }: RowProps) {
  const day = (label: string, value: string, change: (day: string) => void) => (
    <select aria-label={label} className={CONTROL} value={value} onChange={(event) => change(event.target.value)}>
      {DAYS.map((name) => (
        <option key={name} value={name}>
          {texts.days[name]}
        </option>
      ))}
    </select>
  );
  const time = (label: string, value: string, change: (time: string) => void) => (
    <input
      type="time"
      aria-label={label}
      className={CONTROL}
      value={value}
      onChange={(event) => change(event.target.value)}
    />
  );
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {day(texts.windowFrom(number), window.fromDay, (fromDay) => onChange({ fromDay }))}
      {time(texts.windowFromTime(number), window.fromTime, (fromTime) => onChange({ fromTime }))}
      <span className="text-13 text-ink2">{texts.windowSeparator}</span>
      {day(texts.windowTo(number), window.toDay, (toDay) => onChange({ toDay }))}
      {time(texts.windowToTime(number), window.toTime, (toTime) => onChange({ toTime }))}
      {children}
    </div>
  );
}
