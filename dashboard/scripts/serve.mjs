// Serves `dist/site` as the server does, with the same content security policy, and passes `/api` and `/readyz` on to a server.
// For looking at a build without building the server: node scripts/serve.mjs [port] [server]
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

const dist = fileURLToPath(new URL("../dist/site", import.meta.url));
const port = Number(process.argv[2] ?? 4173);
const target = new URL(process.argv[3] ?? "http://127.0.0.1:7420");

function pass(incoming, outgoing) {
  const options = { hostname: target.hostname, port: target.port, path: incoming.url, method: incoming.method };
  const upstream = request({ ...options, headers: incoming.headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  upstream.on("error", () => outgoing.writeHead(502).end());
  outgoing.on("close", () => upstream.destroy());
  incoming.pipe(upstream);
}

createServer((incoming, outgoing) => {
  const path = new URL(incoming.url ?? "/", "http://localhost").pathname;
  if (path.startsWith("/api/") || path.startsWith("/docs") || path === "/readyz") return pass(incoming, outgoing);
  const file = join(dist, normalize(path));
  const isFile = file.startsWith(dist) && existsSync(file) && statSync(file).isFile();
  if (!isFile && /^\/(assets|immutable)\//.test(path)) return outgoing.writeHead(404).end();
  const served = isFile ? file : join(dist, "index.html");
  outgoing.writeHead(200, {
    "Content-Type": TYPES[extname(served)] ?? "application/octet-stream",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
  });
  return createReadStream(served).pipe(outgoing);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
