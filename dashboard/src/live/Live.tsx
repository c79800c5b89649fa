// Provides the live connection of an organization to the screens below it.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useEffectEvent, useMemo, useState } from "react";
import { useNow } from "@/lib/ticker";
import { LiveConnection } from "./connection";
import { watchServer } from "./probe";
import { type Connection, type LampState, lampOf } from "./status";

type Status = { connection: Connection; notReadySince: number | undefined };

const START: Connection = { kind: "connecting", since: Date.now() };
const Context = createContext<Status>({ connection: START, notReadySince: undefined });

type Props = {
  org: string;
  user: string;
  /** The newest event before the first read; `undefined` if it could not be read. */
  start: number | undefined;
  onReset: () => void;
  children: ReactNode;
};

export function Live({ org, user, start, onReset, children }: Props) {
  const queries = useQueryClient();
  const [connection, setConnection] = useState<Connection>(() => ({ kind: "connecting", since: Date.now() }));
  const reset = useEffectEvent(onReset);
  useEffect(() => {
    const live = new LiveConnection({ org, user, start, queries, onConnection: setConnection, onReset: () => reset() });
    return () => live.stop();
  }, [org, user, start, queries]);
  const notReadySince = useNotReadySince();
  const status = useMemo(() => ({ connection, notReadySince }), [connection, notReadySince]);
  return <Context value={status}>{children}</Context>;
}

/** Since when the server is not ready; `undefined` while it is. */
function useNotReadySince(): number | undefined {
  const [since, setSince] = useState<number | undefined>();
  useEffect(() => {
    const stop = new AbortController();
    void watchServer((isReady) => setSince(isReady ? undefined : Date.now()), stop.signal);
    return () => stop.abort();
  }, []);
  return since;
}

/** What the lamp shows. It ticks, because a connection that is down becomes worse with time. */
export function useLamp(): LampState {
  const { connection, notReadySince } = useContext(Context);
  useNow("second");
  return lampOf(connection, Date.now(), notReadySince);
}
