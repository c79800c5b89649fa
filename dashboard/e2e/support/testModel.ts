// A model server that speaks OpenAI's chat completions, and responds with what a test has set.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Explanation = {
  category: string;
  evidence: string[];
  suspects: string[];
  cause: string | null;
  next: string[];
  confidence: "low" | "medium" | "high";
  enough: boolean;
};

export class TestModel {
  /** The bodies of all requests, as they came. */
  readonly received: string[] = [];
  /** A number is the status of an error. */
  answer: Explanation | number = 500;
  #gate: Promise<void> = Promise.resolve();
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Keeps requests waiting until the function that it returns is called. */
  hold(): () => void {
    let release = () => {};
    this.#gate = new Promise((resolve) => {
      release = resolve;
    });
    return () => release();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.received.push(Buffer.concat(chunks).toString());
    await this.#gate;
    const { answer } = this;
    const head = { "Content-Type": "application/json" };
    if (typeof answer === "number") {
      response.writeHead(answer, head).end("{}");
      return;
    }
    const choices = [{ message: { content: JSON.stringify(answer) }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 1_200, completion_tokens: 80 };
    response.writeHead(200, head).end(JSON.stringify({ choices, usage }));
  }
}
