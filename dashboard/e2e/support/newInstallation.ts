// A server on a new, empty database, beside the stack's own one: what an operator has after the first start.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const START_TIMEOUT = 30_000;

export class NewInstallation {
  readonly #program: string;
  readonly #server: string;
  readonly #database = `greenroom_browser_${randomUUID().replaceAll("-", "")}`;
  readonly #objects = join(tmpdir(), this.#database);
  #process: ChildProcess | undefined;

  /** `program` is `greenroomd`; the database is created on the stack's PostgreSQL. */
  constructor(program: string) {
    this.#program = program;
    const server = process.env.GREENROOM_DATABASE_URL;
    if (!server) throw new Error("GREENROOM_DATABASE_URL is not set: run the tests with cargo xtask ui");
    this.#server = server;
    this.#sql(`create database ${this.#database}`);
    try {
      execFileSync(this.#program, ["migrate", "up"], { env: this.#environment() });
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  /** Starts a server, or starts it again, and returns the link that it prints. */
  async start(): Promise<string> {
    await this.#stop();
    const args = ["serve", "--listen", "127.0.0.1:0"];
    const child = spawn(this.#program, args, { env: this.#environment(), stdio: ["ignore", "pipe", "ignore"] });
    this.#process = child;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the server printed no link")), START_TIMEOUT);
      createInterface({ input: child.stdout }).on("line", (line) => {
        const link = /http:\S+\/setup#\S+/.exec(line)?.[0];
        if (!link) return;
        clearTimeout(timer);
        resolve(link);
      });
    });
  }

  async end(): Promise<void> {
    await this.#stop();
    this.#remove();
  }

  #remove(): void {
    rmSync(this.#objects, { recursive: true, force: true });
    this.#sql(`drop database ${this.#database} with (force)`);
  }

  async #stop(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }

  #sql(statement: string): void {
    execFileSync("psql", ["--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", this.#server, "--command", statement]);
  }

  #environment(): NodeJS.ProcessEnv {
    const url = new URL(this.#server);
    url.pathname = this.#database;
    const { GREENROOM_PUBLIC_URL: _, GREENROOM_OIDC_PROVIDERS: __, ...inherited } = process.env;
    return {
      ...inherited,
      GREENROOM_DATABASE_URL: url.href,
      GREENROOM_OBJECTS: `file://${this.#objects}`,
    };
  }
}
