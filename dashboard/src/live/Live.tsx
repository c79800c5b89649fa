// Provides the live connection of an organization to the screens below it.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useEffectEvent, useState } from "react";
import { useNow } from "@/lib/ticker";
import { LiveConnection } from "./connection";
import { type Connection, type LampState, lampOf } from "./status";

const Context = createContext<Connection>({ kind: "connecting", since: Date.now() });

type Props = { org: string; user: string; onReset: () => void; children: ReactNode };

export function Live({ org, user, onReset, children }: Props) {
  const queries = useQueryClient();
  const [connection, setConnection] = useState<Connection>(() => ({ kind: "connecting", since: Date.now() }));
  const reset = useEffectEvent(onReset);
  useEffect(() => {
    const live = new LiveConnection({ org, user, queries, onConnection: setConnection, onReset: () => reset() });
    return () => live.stop();
  }, [org, user, queries]);
  return <Context value={connection}>{children}</Context>;
}

/** What the lamp shows. It ticks, because a connection that is down becomes worse with time. */
export function useLamp(): LampState {
  const connection = useContext(Context);
  useNow("second");
  return lampOf(connection, Date.now());
}
