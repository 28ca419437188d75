import { describe, expect, it } from "vitest";
import { forkContext } from "../src/fork/fork.ts";
import { formatOf, readTranscript } from "../src/formats/read-transcript.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { cliSamples, type Sample } from "./rig/cli-samples.ts";
import { mutateFile } from "./rig/mutate-file.ts";

const FILES = Number(process.env.FUZZ_RUNS ?? (process.env.CARRYOVER_LONG === undefined ? 330 : 100_000));

/** Reads a file and does with it what the programs do; the error when one of them throws. */
async function tryFile(text: string): Promise<string | undefined> {
  try {
    const bytes = new TextEncoder().encode(text);
    const { format, wire, transcript } = await readTranscript(bytes);
    await readTranscript(bytes, { keep: "live" });
    if (format === "unknown") return undefined;
    formatOf(format).faults(wire);
    formatOf(format).apply(wire, repairPairing(transcript), { at: 1 });
    forkContext(transcript);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : "threw";
  }
}

describe("a file with odd values in any place is read", () => {
  const samples = cliSamples();
  it.each(samples)("$format", { timeout: 3_600_000 }, async (sample: Sample) => {
    const count = Math.ceil(FILES / samples.length);
    for (let seed = 1; seed <= count; seed++) {
      const problem = await tryFile(mutateFile(sample, seed));
      if (problem !== undefined) expect.fail(`seed ${seed}: ${problem}`);
    }
  });

  it("and one line that cannot be told apart does not take the others with it", async () => {
    const line = (payload: unknown) => JSON.stringify({ type: "response_item", payload });
    const text = [
      JSON.stringify({ type: "session_meta", payload: { id: "x", cwd: "/" } }),
      line({ type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] }),
      line({ type: { toString: null } }),
      line({ type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] }),
    ].join("\n");
    const { transcript } = await readTranscript(new TextEncoder().encode(text));
    expect(JSON.stringify(transcript)).toContain("hello");
    expect(JSON.stringify(transcript)).toContain("hi");
  });
});
