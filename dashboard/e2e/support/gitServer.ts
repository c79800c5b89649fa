// Git repositories, such as those that publish steps, served over HTTP by git itself.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The settings of this machine must not change what the tests publish. */
const GIT_ENVIRONMENT = { ...process.env, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };

const IMAGE = `registry.example.test/tools/shell@sha256:${"a".repeat(64)}`;

export class Repository {
  readonly url: string;
  readonly #folder: string;

  constructor(folder: string, url: string) {
    this.#folder = folder;
    this.url = url;
    mkdirSync(folder, { recursive: true });
    this.#git("init", "--quiet", "--initial-branch=main");
  }

  /** Commits a step and publishes it by a tag. `manifest` is what follows after its name and image. */
  publish(name: string, version: string, manifest: string, image = IMAGE): void {
    this.write(`${name}/step.yaml`, `name: ${name}\nimage: ${image}\n${manifest}`);
    this.commit();
    this.tag(`${name}/v${version}`);
  }

  write(path: string, text: string): void {
    const file = join(this.#folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Returns the id of the commit. */
  commit(): string {
    this.#git("add", "--all");
    this.#git("commit", "--quiet", "--allow-empty", "--message", "A change");
    return this.#git("rev-parse", "HEAD").trim();
  }

  /** Makes a branch here, for what is committed from now on. */
  branch(name: string): void {
    this.#git("checkout", "--quiet", "-b", name);
  }

  /** Moves the tag if it exists. */
  tag(name: string): void {
    this.#git("tag", "--force", name);
  }

  #git(...rest: string[]): string {
    const person = ["-c", "user.name=Test", "-c", "user.email=test@example.test"];
    const options = { cwd: this.#folder, env: GIT_ENVIRONMENT, stdio: "pipe", encoding: "utf8" } as const;
    return execFileSync("git", [...person, ...rest], options);
  }
}

export class GitServer {
  readonly #folder = mkdtempSync(join(tmpdir(), "greenroom-ui-"));
  readonly #server: Server = createServer((request, response) => this.#serve(request, response));

  static async start(): Promise<GitServer> {
    const server = new GitServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  repository(name: string): Repository {
    return new Repository(join(this.#folder, name), `${this.#origin()}/${name}`);
  }

  #origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url ?? "/", this.#origin());
    const backend = spawn("git", ["http-backend"], {
      env: {
        ...GIT_ENVIRONMENT,
        GIT_PROJECT_ROOT: this.#folder,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: decodeURIComponent(pathname),
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method ?? "GET",
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      },
    });
    const chunks: Buffer[] = [];
    backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    backend.on("close", () => respond(response, Buffer.concat(chunks)));
    request.pipe(backend.stdin);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }
}

/** The output of a CGI program: headers, an empty line, the body. */
function respond(response: ServerResponse, output: Buffer): void {
  const end = output.indexOf("\r\n\r\n");
  const headers = output.subarray(0, Math.max(0, end)).toString("latin1").split("\r\n");
  for (const header of headers) {
    const [name = "", value = ""] = header.split(/: (.*)/s);
    if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
    else if (name) response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
}
