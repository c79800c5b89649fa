// The worker of a large log: reads a part of it and finds its lines, so that the page stays responsive.
import { startsOf } from "./pages";
import type { FromWorker, ToWorker } from "./protocol";

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => void read(data));

async function read({ number, url, start, end }: ToWorker): Promise<void> {
  try {
    const response = await fetch(url, { headers: { Range: `bytes=${start}-${end}` } });
    if (!response.ok) {
      const body: unknown = await response.json().catch(() => undefined);
      return send({ kind: "failed", number, status: response.status, body });
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    const starts = startsOf(bytes);
    send({ kind: "part", number, part: { bytes, starts } }, [bytes.buffer, starts.buffer]);
  } catch (error) {
    send({ kind: "failed", number, status: 0, body: { detail: String(error) } });
  }
}

function send(message: FromWorker, transfer: ArrayBufferLike[] = []): void {
  postMessage(message, { transfer: transfer as ArrayBuffer[] });
}
