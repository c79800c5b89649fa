// The server of the stack, for tests that stop it. GREENROOM_STACK names the stack.
import { execFileSync } from "node:child_process";

const STACK = "../dev/stack";

type Status = { parts: { part: string; pid: number | null }[] };

/** SIGKILL leaves no time to close connections; after SIGTERM, the server ends them and stops. */
export function stopServer(signal: "SIGKILL" | "SIGTERM"): void {
  const status = JSON.parse(execFileSync(STACK, ["status", "--json"], { encoding: "utf8" })) as Status;
  const pid = status.parts.find(({ part }) => part === "server")?.pid;
  if (!pid) throw new Error("the server is not running");
  process.kill(pid, signal);
}

/** Starts what is missing, and returns when it responds. */
export function startServer(): void {
  execFileSync(STACK, ["up", "--demo", "--json"], { encoding: "utf8" });
}
