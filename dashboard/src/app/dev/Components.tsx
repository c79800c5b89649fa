// Every component in every state, for the eye and for the accessibility tests. No request is sent from here.
import { useState, type ReactNode } from "react";
import { setPreference, usePreferences } from "@/lib/preferences";
import { ANALYSIS_STATES } from "@/ui/analysis";
import { Badge, StateMark } from "@/ui/Badge";
import { Empty } from "@/ui/Empty";
import { ErrorPanel } from "@/ui/ErrorPanel";
import { Who } from "@/ui/Face";
import { FIX_STATES } from "@/ui/fix";
import { Bar, Lamp } from "@/ui/Lamp";
import { PageHead } from "@/ui/Page";
import { Segments } from "@/ui/Segments";
import { SkeletonCards, SkeletonRows } from "@/ui/Skeleton";
import { ALL_STATES } from "@/ui/state";
import { Buttons, Fields, Overlays } from "./Controls";
import { Doors } from "./Doors";
import { Section } from "./Section";
import { Tables } from "./Tables";

const LONGEST = "A-very-long-name-that-somebody-gave-to-an-environment-or-a-bot-1";

export function Components(): ReactNode {
  const { theme } = usePreferences();
  const [segment, setSegment] = useState<"all" | "free" | "held">("all");
  return (
    <main className="mx-auto flex max-w-[1360px] flex-col gap-8 px-3.5 py-5 md:px-7">
      <PageHead
        title="Components"
        tally={[
          { count: 2, word: "free" },
          { count: 1, word: "yours" },
        ]}
        actions={
          <Segments
            label="Theme"
            value={theme}
            onChange={(value) => setPreference("theme", value)}
            segments={[
              { value: "system", label: "System" },
              { value: "light", label: "Light" },
              { value: "dark", label: "Dark" },
            ]}
          />
        }
      />
      {Object.entries({ ...ALL_STATES, Analysis: ANALYSIS_STATES, Fix: FIX_STATES }).map(([noun, states]) => (
        <Section key={noun} title={noun}>
          <div className="flex flex-wrap gap-x-4 gap-y-2">
            {states.map((state) => (
              <span key={state.word + state.tone} className="flex items-center gap-2">
                <Badge state={state} />
                <StateMark state={state} />
              </span>
            ))}
          </div>
        </Section>
      ))}
      <Section title="Faces">
        <div className="grid max-w-sm gap-2">
          <Who name="Maya Brandt" kind="user" mine />
          <Who name="Tomás Ibarra" kind="user" />
          <Who name="storefront-ci" kind="ci" />
          <Who name="fix-agent" kind="agent" />
          <Who name={LONGEST} kind="ci" />
          <Who name="a-kind-of-a-later-version" kind="robot" />
        </div>
      </Section>
      <Doors longest={LONGEST} />
      <Section title="Lamps and bars">
        <div className="flex flex-wrap gap-4">
          <Lamp color="green" text="Live" />
          <Lamp color="slate" text="Reconnecting, as of 16:02:11" />
          <Lamp color="red" text="Not live" />
        </div>
        <Bar tone="amber">Not live since 16:02:11; actions still work</Bar>
        <Bar tone="gold">qa-1 is yours: your turn until 16:03</Bar>
        <Bar tone="red">Taken over by Tomás at 15:02: “hotfix”</Bar>
      </Section>
      <Buttons />
      <Section title="Segments">
        <Segments
          label="State"
          value={segment}
          onChange={setSegment}
          segments={[
            { value: "all", label: "All", count: 8 },
            { value: "free", label: "Free", count: 2 },
            { value: "held", label: "Held", count: 4 },
          ]}
        />
      </Section>
      <Fields />
      <Overlays />
      <Tables />
      <Section title="Empty, refused, failed, loading">
        <Empty title="No environments yet" text="Add four lines to the pipeline's definition." />
        <ErrorPanel
          failure={{
            title: "Not allowed",
            text: "Developers can claim; you are a viewer.",
            code: "forbidden",
            requestId: "req_0190",
            refused: true,
          }}
        />
        <ErrorPanel
          failure={{
            title: "Something went wrong",
            text: "The failure was recorded.",
            code: "internal",
            requestId: "req_0191",
          }}
          onRetry={() => undefined}
        />
        <SkeletonRows rows={2} />
        <SkeletonCards cards={3} />
      </Section>
    </main>
  );
}
