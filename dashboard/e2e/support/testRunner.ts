// A runner in a separate pool, which may check out from repositories on this machine: the runner of the demo may not.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Api } from "./api";
import type { Stack } from "./stack";

export class TestRunner {
  readonly #api: Api;
  readonly #id: string;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(api: Api, id: string, folder: string, process: ChildProcess) {
    this.#api = api;
    this.#id = id;
    this.#folder = folder;
    this.#process = process;
  }

  static async start(stack: Stack, api: Api, pool: string): Promise<TestRunner> {
    const folder = mkdtempSync(join(tmpdir(), "greenroom-ui-"));
    const made = { name: pool, pool };
    const { id, token } = await api.send<{ id: string; token: string }>("owner", "POST", "/runners", made);
    const file = join(folder, "token");
    writeFileSync(file, token, { mode: 0o600 });
    const options = ["--url", stack.api, "--token-file", file, "--work-dir", join(folder, "work")];
    const rest = ["--backend", "process", "--checkout-allow", "127.0.0.0/8", "--drain-seconds", "1"];
    return new TestRunner(api, id, folder, spawn(program(), [...options, ...rest], { stdio: "ignore" }));
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGTERM");
    await ended;
    await this.#api.request("owner", "DELETE", `/runners/${this.#id}`);
    rmSync(this.#folder, { recursive: true });
  }
}

/** The program of the demo's runner. GREENROOM_STACK names the stack. */
function program(): string {
  const variables = execFileSync("../dev/stack", ["env"], { encoding: "utf8" });
  const found = /^export RUNNER=(.+)$/m.exec(variables)?.[1];
  if (!found) throw new Error("the demo has no runner");
  return found;
}
