import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { parseArgs } from "node:util";
import { isInSample } from "./mutate/sample.mjs";
import { root } from "./run.mjs";

// Tests for the mutants of each room: its own, and those of rooms that use it most. A folder inside a room is listed
// separately when it has many or slow mutants.
const TESTS = {
  text: ["text"],
  "text/secrets": ["text"],
  "text/tokens": ["text"],
  transcript: ["transcript", "fork"],
  stages: ["stages", "fork"],
  "stages/lines": ["stages/lines"],
  fork: ["fork"],
  "fork/context": ["fork"],
  "fork/life": ["fork/life"],
  "tool-output": ["tool-output"],
  session: ["session"],
  compaction: ["compaction"],
  "compaction/plan": ["compaction"],
  "compaction/summary": ["compaction"],
  "compaction/tool-summaries": ["compaction"],
  "compaction/trigger": ["compaction"],
  "compaction/provider-errors": ["compaction/provider-errors"],
  "compaction/ports": ["compaction"],
};
const LEAST_PERCENT = 85;
/** No minimum score for these: their score is only compared before and after a change. */
const NOT_HELD = /^(session|compaction)\b/;
const ROOM_TIMEOUT_MS = 60 * 60_000;

// npm run mutate -- --sample 5 --processes 1 text/secrets: one mutant of five, in one process.
const { values, positionals: rooms } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string", default: "1" }, processes: { type: "string", default: "2" } },
});
const sample = Number(values.sample);
const unknown = rooms.filter((room) => !(room in TESTS));
if (unknown.length > 0) {
  console.error(`no such room: ${unknown.join(", ")}; there are ${Object.keys(TESTS).join(", ")}`);
  process.exit(2);
}
setPriority(15);
mkdirSync(`${root}reports/mutate`, { recursive: true });
const rows = (rooms.length > 0 ? rooms : Object.keys(TESTS)).map(mutateRoom);
console.table(Object.fromEntries(rows.map(({ room, ...row }) => [room, row])));
console.log("survivors: reports/mutate/<room>.txt");
const held = rows.filter(({ room }) => !NOT_HELD.test(room));
if (held.some(({ score }) => !(Number.parseFloat(score) >= LEAST_PERCENT))) process.exit(1);

function mutateRoom(room) {
  console.log(`\n— ${room}`);
  const report = `${root}reports/mutate/${room.replaceAll("/", "-")}${sample > 1 ? `-sample-${sample}` : ""}`;
  const results = `${report}.json`;
  const stryker = spawnSync(
    "node_modules/.bin/stryker",
    [
      ...["run", "--mutate", `src/${room}/*.ts,!src/**/*.test.ts`, "--incrementalFile", results],
      ...["--concurrency", values.processes],
      // Do not reuse results of an earlier sample.
      ...(sample > 1 ? ["--force"] : []),
    ],
    {
      cwd: root,
      stdio: "inherit",
      timeout: ROOM_TIMEOUT_MS,
      env: {
        ...process.env,
        FUZZ_RUNS: process.env.FUZZ_RUNS ?? "8",
        CARRYOVER_MUTATE_SAMPLE: values.sample,
        CARRYOVER_MUTATE_TESTS: TESTS[room].map((folder) => `src/${folder}`).join(","),
      },
    },
  );
  if (stryker.status !== 0) {
    console.error(`Stryker did not finish ${room}`);
    process.exit(1);
  }
  const mutants = readMutants(results).filter(({ id }) => isInSample(id, sample));
  const left = mutants.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  writeFileSync(`${report}.txt`, left.map(describeMutant).join(""));
  return summarize(room, mutants);
}

function readMutants(file) {
  const { files } = JSON.parse(readFileSync(file, "utf8"));
  return Object.entries(files).flatMap(([path, { source, mutants }]) =>
    mutants.map((mutant) => ({ ...mutant, path, source })),
  );
}

function summarize(room, mutants) {
  const count = (status) => mutants.filter((mutant) => mutant.status === status).length;
  const [killed, timeout] = [count("Killed"), count("Timeout")];
  const [survived, uncovered] = [count("Survived"), count("NoCoverage")];
  const all = killed + timeout + survived + uncovered;
  const score = `${((100 * (killed + timeout)) / all).toFixed(1)} %`;
  return { room, mutants: all, killed, timeout, survived, "no coverage": uncovered, score };
}

function describeMutant({ path, source, location: { start, end }, mutatorName, status, replacement }) {
  const lines = source.split("\n").slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines[lines.length - 1].slice(0, end.column - 1);
  lines[0] = lines[0].slice(start.column - 1);
  const [before, after] = [lines.join("\n"), replacement ?? ""].map((text) => text.replace(/\s+/g, " "));
  const mark = status === "NoCoverage" ? " (not covered)" : "";
  return `${path}:${start.line}:${start.column} ${mutatorName}${mark}\n  - ${before}\n  + ${after}\n`;
}
