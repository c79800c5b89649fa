// Tells the person when an environment that they wait for is free. The event stream keeps its record current.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import { environmentQuery, type EnvironmentRef } from "@/api/environment";
import { notify } from "@/lib/notify";
import { paths } from "@/lib/paths";
import { environment as texts } from "@/texts/en/environment";
import { showToast } from "@/ui/toasts";
import { toggleWatch, useWatched } from "./watch";

export function FreeWatch({ org }: { org: string }) {
  return useWatched()
    .filter((ref) => ref.org === org)
    .map((ref) => <Watch key={`${ref.pipeline}/${ref.env}`} at={ref} />);
}

function Watch({ at }: { at: EnvironmentRef }) {
  const router = useRouter();
  const lock = useQuery(environmentQuery(at)).data?.lock;
  // While others wait, it is theirs next.
  const isFree = lock?.status === "free" && lock.queueLength === 0;
  const tell = useEffectEvent(() => {
    toggleWatch(at);
    notify(texts.isFree(at.env), `free:${at.pipeline}/${at.env}`);
    const onSelect = () => router.history.push(paths.environment(at));
    showToast({ title: texts.isFree(at.env), action: { label: texts.open, onSelect } });
  });
  useEffect(() => {
    if (isFree) tell();
  }, [isFree]);
  return null;
}
