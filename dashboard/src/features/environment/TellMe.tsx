// A switch on a card: tell me when this environment is free.
import { Bell, BellRing } from "lucide-react";
import { useIsWatched } from "@/features/notice";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";

type Props = { org: string; pipeline: string; env: string; onToggle: () => void };

export function TellMe({ org, pipeline, env, onToggle }: Props) {
  const isOn = useIsWatched({ org, pipeline, env });
  const Icon = isOn ? BellRing : Bell;
  const label = texts.tellMe(env);
  return (
    <Button
      look="quiet"
      aria-pressed={isOn}
      aria-label={label}
      title={label}
      className="grow-0! px-2!"
      onClick={onToggle}
      icon={<Icon aria-hidden size={16} className={isOn ? "text-brand" : undefined} />}
    />
  );
}
