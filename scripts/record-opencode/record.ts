import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { compactionCases } from "./cases/compaction.ts";
import { compactionFailureCases } from "./cases/compaction-failures.ts";
import { interruptionCases } from "./cases/interruptions.ts";
import { storyCase } from "./cases/story.ts";
import { toolCases } from "./cases/tools.ts";
import { openStage, type RecordingCase } from "./stage.ts";

/** Records the named cases, or all of them, from the real OpenCode. */
export async function record(names: readonly string[]): Promise<void> {
  const startedMs = Date.now();
  const chosen = names.length === 0 ? CASES : CASES.filter((each) => names.includes(each.name));
  for (const each of chosen) {
    const caseStartedMs = Date.now();
    const stage = await openStage(each);
    try {
      const value = stage.scrub(await each.play(stage));
      write(each.file ?? `test/recordings/opencode/${each.name}.json`, value);
    } finally {
      await stage.close();
    }
    console.log(`${each.name}: ${((Date.now() - caseStartedMs) / 1000).toFixed(1)} s`);
  }
  console.log(`${chosen.length} cases in ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
}

const CASES: readonly RecordingCase[] = [
  ...toolCases,
  ...interruptionCases,
  ...compactionCases,
  ...compactionFailureCases,
  storyCase,
];

function write(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
  // What is not a recording is checked like every other file of the project.
  execFileSync("node_modules/.bin/biome", ["format", "--write", "--no-errors-on-unmatched", file], {
    stdio: "ignore",
  });
}
