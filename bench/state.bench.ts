import { resumeLoop, runPersistedLoop } from "../test/ai-sdk/harness/persisted-loop.ts";

/** Memory that a loop of 1,000 steps in a 32k window keeps, through the middleware with default options. */
export async function benchState(): Promise<void> {
  console.log("state: 1,000 steps in a window of 32k tokens, outputs of 2 to 60 KB");
  const loop = await runPersistedLoop({ steps: 1_000, leastBytes: 2_000, mostBytes: 60_000 });
  const { sent } = await resumeLoop(loop);
  const kb = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} KB`;
  console.log(`  history ${kb(loop.historyBytes)}, ${loop.summaries} compactions`);
  console.log(
    `  in force: ${kb(loop.mostStateBytes)} at most, ${kb(loop.stateBytes)} at the end (200 KB allowed)`,
  );
  console.log(`  written in all: ${kb(loop.writtenBytes)} in ${loop.writes} writes (2,000 KB allowed)`);
  console.log(`  rows at most: ${loop.mostRows}; left at the end: ${kb(JSON.stringify(loop.rows).length)}`);
  console.log(
    `  another process sends ${JSON.stringify(sent) === JSON.stringify(loop.sent) ? "the same bytes" : "OTHER BYTES"}`,
  );
}
