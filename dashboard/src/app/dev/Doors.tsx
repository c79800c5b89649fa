// Doors and faders in each state.
import { serverNow } from "@/lib/clock";
import { Button } from "@/ui/Button";
import { Countdown } from "@/ui/Countdown";
import { DoorCard, LeaseLine } from "@/ui/DoorCard";
import { Who } from "@/ui/Face";
import { Fader } from "@/ui/Fader";
import { environmentState, workState } from "@/ui/state";
import { StateMark } from "@/ui/Badge";
import { duration } from "@/texts/en/time";
import { useState } from "react";
import { Section } from "./Section";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export function Doors({ longest }: { longest: string }) {
  const [now] = useState(serverNow);
  const lease = (left: number, tone: "gold" | "slate" | "amber" | "violet") => (
    <>
      <Fader
        endsAt={now + left}
        span={4 * HOUR}
        maxEndsAt={now + 3 * HOUR}
        tone={tone}
        label={`${duration(left)} left`}
      />
      <LeaseLine
        low={tone === "amber"}
        left={<Countdown until={now + left}>{(rest) => `${duration(rest)} left`}</Countdown>}
        right="ends 18:04"
      />
    </>
  );
  const deployed = (
    <>
      <StateMark state={workState("succeeded")} word="Deployed" /> <code className="text-12 text-ink2">9f3c2a1</code>
    </>
  );
  return (
    <Section title="Doors">
      <div className="grid grid-cols-[repeat(auto-fill,minmax(300px,1fr))] gap-3 max-md:grid-cols-1">
        <DoorCard
          door="yours"
          name="qa-1"
          title="qa-1"
          state={environmentState("yours")}
          who={<Who name="Maya Brandt" kind="user" mine />}
          context="Checkout fix, please do not reset the orders"
          lease={lease(112 * MINUTE, "gold")}
          deployment={deployed}
          actions={
            <>
              <Button look="primary">Deploy</Button>
              <Button>Renew</Button>
              <Button>Release</Button>
            </>
          }
        />
        <DoorCard
          door="held"
          name={longest}
          title={longest}
          state={environmentState("in_line", 12)}
          who={<Who name={longest} kind="agent" />}
          context={`${longest} ${longest}`}
          lease={lease(9 * MINUTE, "amber")}
          deployment={<StateMark state={workState("running")} word="Deploying" />}
          actions={<Button why="Developers can claim; you are a viewer">Queue</Button>}
        />
        <DoorCard
          door="free"
          name="load-1"
          title="load-1"
          state={environmentState("free")}
          who="free for 3 h 10 min"
          actions={<Button look="primary">Claim</Button>}
        />
        <DoorCard
          door="held"
          name="qa-3"
          title="qa-3"
          state={environmentState("asked_for")}
          who={<Who name="storefront-ci" kind="ci" />}
          context="nightly e2e"
          lease={lease(2 * HOUR, "violet")}
          deployment={<StateMark state={workState("failed")} />}
          changed
        />
      </div>
    </Section>
  );
}
