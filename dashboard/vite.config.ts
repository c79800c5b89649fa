// Builds the dashboard into `dist/site`, and `dist/embedded` for the server. Nothing is inlined into HTML or CSS, because
// the content security policy allows files of the same origin only.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { renameSync, rmdirSync, rmSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { writeEmbeddedFiles } from "./scripts/embeddedFiles.ts";

const SERVER = "http://127.0.0.1:7420";

/** Removes what the server embeds of an earlier build, whose files this build deletes. After the build, moves the list of
    files, which `npm run sizes` reads and which is not part of the site, and prepares the site for the server. */
function filesBeside(): Plugin {
  return {
    name: "files-beside",
    apply: "build",
    buildStart: () => rmSync("dist/embedded", { recursive: true, force: true }),
    closeBundle: async () => {
      renameSync("dist/site/.vite/manifest.json", "dist/manifest.json");
      rmdirSync("dist/site/.vite");
      await writeEmbeddedFiles("dist/site", "dist/embedded");
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), filesBeside()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    target: "es2023",
    outDir: "dist/site",
    // The names of these files contain a hash of their contents, so that browsers keep them for ever.
    assetsDir: "immutable",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    sourcemap: false,
    manifest: true,
  },
  server: {
    host: "127.0.0.1",
    // The server accepts changes from its own address only. Other sites stay foreign to it by `Sec-Fetch-Site`.
    proxy: { "/api": { target: SERVER, headers: { origin: SERVER } }, "/docs": SERVER, "/readyz": SERVER },
  },
  // One worker for many files: a process for each would take most of the time.
  test: { environment: "node", include: ["{scripts,src}/**/*.test.ts"], isolate: false },
});
