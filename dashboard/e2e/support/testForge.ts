// A forge with the part of GitHub's API that opens a pull request, for one repository. It has the branches that a test sets.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type PullRequest = { title: string; head: string; base: string; draft: boolean };

export class TestForge {
  /** The newest commit of each branch. */
  readonly branches = new Map<string, string>();
  readonly opened: PullRequest[] = [];
  readonly #repository: string;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  /** `repository` is `OWNER/NAME`. */
  constructor(repository: string) {
    this.#repository = repository;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname } = new URL(request.url ?? "/", this.address);
    const path = pathname.slice(`/repos/${this.#repository}`.length);
    const [status, body] = this.#respond(`${request.method} ${path}`, Buffer.concat(chunks).toString());
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  }

  #respond(call: string, body: string): [status: number, body: unknown] {
    if (call === "GET ") return [200, { full_name: this.#repository, default_branch: "main" }];
    if (call.startsWith("GET /branches/")) {
      const sha = this.branches.get(decodeURIComponent(call.slice("GET /branches/".length)));
      return sha ? [200, { commit: { sha } }] : [404, {}];
    }
    if (call.startsWith("GET /compare/")) return [200, { total_commits: 0, commits: [], files: [] }];
    if (call === "GET /pulls") return [200, this.opened.map((_, index) => this.#view(index))];
    if (call === "POST /pulls") return [201, this.#view(this.opened.push(JSON.parse(body) as PullRequest) - 1)];
    return call.startsWith("POST /statuses/") ? [201, {}] : [404, {}];
  }

  #view(index: number) {
    const found = this.opened[index] as PullRequest;
    return {
      number: index + 1,
      html_url: `${this.address}/${this.#repository}/pull/${index + 1}`,
      state: "open",
      draft: found.draft,
      merged_at: null,
      head: { ref: found.head, sha: this.branches.get(found.head), repo: { full_name: this.#repository } },
      base: { ref: found.base },
    };
  }
}
