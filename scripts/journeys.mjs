import { mkdirSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { buildPage } from "./build-page.mjs";
import { root } from "./run.mjs";

// Lists the files of src/ with a named function that ran in a journey: what somebody meets who follows it with a
// debugger. npm run journeys [-- --files] [idle-turn trimmed-output fork inspect]
const JOURNEYS = {
  "idle-turn": { title: "one idle turn of a session" },
  "trimmed-output": { title: "a tool output trimmed, later recalled" },
  fork: { title: "fork: call, launch, graft, delivery" },
  inspect: { title: "inspect --open, from argv to a pixel" },
};
const args = process.argv.slice(2);
const named = args.filter((argument) => !argument.startsWith("--"));
const unknown = named.filter((name) => !(name in JOURNEYS));
if (unknown.length > 0) {
  console.error(`no such journey: ${unknown.join(", ")}; there are ${Object.keys(JOURNEYS).join(", ")}`);
  process.exit(2);
}

const rows = {};
for (const name of named.length > 0 ? named : Object.keys(JOURNEYS)) {
  const { title } = JOURNEYS[name];
  const files = await travel(name);
  if (files === undefined) {
    console.log(`skipped: ${title} (Chromium is not installed)`);
    continue;
  }
  rows[title] = {
    files: files.length,
    rooms: new Set(files.map((file) => file.split("/")[1])).size,
  };
  if (args.includes("--files")) console.log(`\n${title}\n  ${files.join("\n  ")}`);
}
console.table(rows);
process.exit(0);

/** The files of one journey, sorted; undefined when it cannot be made here. */
async function travel(name) {
  const folder = `${root}reports/journeys`;
  mkdirSync(folder, { recursive: true });
  const bundle = await rolldown({
    input: `${root}scripts/journeys/${name}.ts`,
    platform: "node",
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    logLevel: "warn",
  });
  const to = { file: `${folder}/${name}.mjs`, format: "esm", codeSplitting: false, sourcemap: true };
  const { output } = await bundle.write(to);
  const { map } = output[0];
  writeFileSync(`${folder}/package.json`, '{ "type": "module" }');
  const { travel: journey } = await import(pathToFileURL(`${folder}/${name}.mjs`).href);
  const result = await journey({ recordFunctions, buildPage, root });
  if (result === undefined) return undefined;
  const [own, ...others] = result;
  const scripts = [{ ...own, map, base: folder }, ...others];
  const files = new Set(scripts.flatMap(filesOf));
  return [...files].filter((file) => file.startsWith("src/")).sort();
}

/** The source files of the functions that ran. */
function filesOf({ functions, source, map, base }) {
  const sourceMap = new SourceMap(typeof map === "string" ? JSON.parse(map) : map);
  const lineStarts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) lineStarts.push(at + 1);
  return functions
    .filter(({ functionName, ranges }) => functionName !== "" && ranges[0].count > 0)
    .flatMap(({ ranges: [{ startOffset }] }) => {
      const line = lineStarts.findLastIndex((start) => start <= startOffset);
      const { originalSource } = sourceMap.findEntry(line, startOffset - lineStarts[line]);
      return originalSource === undefined ? [] : [relative(root, resolve(base, originalSource))];
    });
}

/** Runs the work and gives the functions of the calling script that ran meanwhile. */
async function recordFunctions(url, work) {
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const { readFileSync } = await import("node:fs");
  const functions = result.filter((script) => script.url === url).flatMap((script) => script.functions);
  return { functions, source: readFileSync(new URL(url), "utf8") };
}
