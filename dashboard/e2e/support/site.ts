// A small site on another port: a deployed environment, or the page of an attacker. It records what it receives.
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export type SiteRequest = { path: string; headers: IncomingHttpHeaders };

export class Site {
  readonly received: SiteRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Every address returns the same page. */
  static async start(html: string): Promise<Site> {
    const server = createServer((request, response) => {
      site.received.push({ path: request.url ?? "", headers: request.headers });
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(html);
    });
    const site = new Site(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return site;
  }

  /** The same site under another host. Cookies ignore ports: only `localhost` differs from the dashboard's host. */
  address(host: "localhost" | "127.0.0.1"): string {
    return `http://${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
