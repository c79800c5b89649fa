import { afterEach, expect, test, vi } from "vitest";
import { type Message, readStream, SILENCE_TIMEOUT } from "./stream";

const URL = "http://127.0.0.1/api/v1/organizations/acme/events/stream?after=1";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function respondWith(body: BodyInit | null, init: ResponseInit = {}): void {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, init)));
}

async function read(signal = new AbortController().signal) {
  const messages: Message[] = [];
  let bytes = 0;
  const handlers = {
    onOpen: () => undefined,
    onByte: () => (bytes += 1),
    onMessage: (message: Message) => messages.push(message),
  };
  const end = await readStream(URL, handlers, signal);
  return { messages, bytes, end };
}

test("events have their number, type and data", async () => {
  respondWith('retry: 1000\n: open\n\nid: 41\nevent: session.claimed\ndata: {"sequence":41}\n\n: \n\n');
  const { messages, end } = await read();
  expect(messages).toEqual([{ id: 41, event: "session.claimed", data: '{"sequence":41}' }]);
  expect(end).toEqual({ kind: "closed" });
});

test("a refusal has its status and its wait time", async () => {
  respondWith("{}", { status: 503, headers: { "Retry-After": "2" } });
  expect((await read()).end).toEqual({ kind: "refused", status: 503, retryAfter: 2 });
});

test("a connection that fails is lost", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  expect((await read()).end).toEqual({ kind: "lost" });
});

test("a connection without a byte for 35 seconds is lost", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", (request: Request) => {
    const body = new ReadableStream({
      start: (controller) => request.signal.addEventListener("abort", () => controller.error(new Error("aborted"))),
    });
    return Promise.resolve(new Response(body));
  });
  const result = read();
  await vi.advanceTimersByTimeAsync(SILENCE_TIMEOUT);
  expect((await result).end).toEqual({ kind: "lost" });
});
