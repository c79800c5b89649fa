// Whether this browser shows notifications. They are asked for by a press, never when a page opens.
import { useState } from "react";
import { profile as texts } from "@/texts/en/profile";
import { Button } from "@/ui/Button";
import { Section } from "./Section";

function permission(): keyof typeof texts.permissions {
  return "Notification" in window ? Notification.permission : "missing";
}

export function Notifications() {
  const [state, setState] = useState(permission);
  const allow = async () => {
    await Notification.requestPermission();
    setState(permission());
  };
  return (
    <Section title={texts.notifications} text={texts.notificationsText}>
      <p>{texts.permissions[state]}</p>
      {state === "default" && (
        <Button className="self-start" onClick={() => void allow()}>
          {texts.allow}
        </Button>
      )}
    </Section>
  );
}
