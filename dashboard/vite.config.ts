// Builds the dashboard into `dist/site`, which the server embeds. Nothing is inlined into HTML or CSS, because the
// content security policy allows files of the same origin only.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { renameSync, rmdirSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const SERVER = "http://127.0.0.1:7420";

/** The list of files, which `npm run sizes` reads, is not part of the site. */
function manifestBeside(): Plugin {
  return {
    name: "manifest-beside",
    apply: "build",
    closeBundle: () => {
      renameSync("dist/site/.vite/manifest.json", "dist/manifest.json");
      rmdirSync("dist/site/.vite");
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), manifestBeside()],
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
    // `changeOrigin` stays off: the server compares `Origin` with the host that the browser sees.
    proxy: { "/api": SERVER, "/docs": SERVER },
  },
  // One worker for many files: a process for each would take most of the time.
  test: { environment: "node", include: ["src/**/*.test.ts"], isolate: false },
});
