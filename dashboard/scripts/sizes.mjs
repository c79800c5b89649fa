// Prints the sizes of the build and fails over budget: JS and CSS of each first screen, and all fonts, gzip. Warns before, so
// that a build is not over budget by surprise.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET = { screen: 180, fonts: 95 };
/** The share of a budget from which a size is close to it. */
const NEAR = 0.95;
const dist = new URL("../dist/site/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("../manifest.json", dist), "utf8"));

/** Kilobytes of a file. Fonts are compressed already and are sent as they are. */
const size = (file) => {
  const bytes = readFileSync(new URL(file, dist));
  return (file.endsWith(".woff2") ? bytes.length : gzipSync(bytes, { level: 9 }).length) / 1000;
};

/** The files that a module needs before it runs: its own, and those of its static imports. */
function needed(key, files = new Set()) {
  const chunk = manifest[key];
  if (files.has(chunk.file)) return files;
  files.add(chunk.file);
  for (const css of chunk.css ?? []) files.add(css);
  for (const other of chunk.imports ?? []) needed(other, files);
  return files;
}

const total = (files) => [...files].reduce((sum, file) => sum + size(file), 0);
const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const shell = needed(entry);
shell.add("assets/theme.js");
const screens = Object.keys(manifest)
  .filter((key) => manifest[key].isDynamicEntry && /^src\/features\/[^/]+\/index\.tsx?$/.test(key))
  .map((key) => ({ screen: key.split("/")[2], kilobytes: total(new Set([...shell, ...needed(key)])) }))
  .sort((a, b) => b.kilobytes - a.kilobytes);
const fonts = total(
  readdirSync(new URL("immutable/", dist))
    .filter((f) => f.endsWith(".woff2"))
    .map((f) => `immutable/${f}`),
);

const largest = { screen: screens[0]?.kilobytes ?? 0, fonts };
const near = Object.entries(BUDGET)
  .filter(([name, budget]) => largest[name] >= budget * NEAR && largest[name] <= budget)
  .map(([name, budget]) => {
    const percent = ((largest[name] / budget) * 100).toFixed(1);
    return `${name} ${largest[name].toFixed(1)} KB is ${percent} % of its budget of ${budget} KB`;
  });
const figures = {
  budget: BUDGET,
  warning: near.length > 0 ? near.join("; ") : null,
  shell: Number(total(shell).toFixed(1)),
  screens: Object.fromEntries(screens.map(({ screen, kilobytes }) => [screen, Number(kilobytes.toFixed(1))])),
  fonts: Number(fonts.toFixed(1)),
};
console.log(JSON.stringify(figures, null, 2));
if (near.length > 0) console.error(`warning: ${near.join("; ")}`);
const isOver = fonts > BUDGET.fonts || screens.length === 0 || screens[0].kilobytes > BUDGET.screen;
if (isOver) console.error("The build is over its budget.");
process.exit(isOver ? 1 : 0);
