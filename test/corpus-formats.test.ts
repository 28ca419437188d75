import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { formatOf, readTranscript } from "../src/formats/read-transcript.ts";
import { compactionBoundary, findCompactionBoundary } from "../src/stages/boundary.ts";
import { DOCUMENTED_TIER_LIMITS, graduatedTiers } from "../src/stages/tiers.ts";
import { applyEdits } from "../src/transcript/edit.ts";
import { project, type Transcript } from "../src/transcript/message.ts";
import { deepFreeze } from "./rig/notation.ts";

const corpus = resolve(import.meta.dirname, "../../shared/eval/corpus");
const isThere = existsSync(resolve(corpus, "manifest.json"));
if (!isThere) console.log("corpus-formats: skipped, ../shared/eval/corpus is not there");

interface Entry {
  readonly file: string;
  readonly format: Parameters<typeof formatOf>[0];
  readonly split: string;
  readonly messages: number;
  readonly toolResults: number;
  readonly compactions: number;
}

const entries: readonly Entry[] = isThere
  ? JSON.parse(readFileSync(resolve(corpus, "manifest.json"), "utf8"))
  : [];
const open = entries.filter(({ split }) => split === "dev");

/** Where the counts differ by more than 2 %, and why. */
const EXPLAINED: Readonly<Record<string, string>> = {
  "claude-code/2a8af1a8": "two sessions in one file: the newest began with an empty context",
  "claude-code/86cc3044": "two messages of a branch that was rewound",
  "gemini-cli/f7633853": "one notice to the user, which is no message",
  "swe-agent/3b6961bb": "the last observation, which ended the run, is in no message",
  "swe-agent/3907f9ec": "the last observation, which ended the run, is in no message",
  "swe-agent/66413903": "the last observation, which ended the run, is in no message",
  "swe-agent/92f96999": "the last observation, which ended the run, is in no message",
};

const isExplained = ({ file }: Entry) => Object.keys(EXPLAINED).some((prefix) => file.startsWith(prefix));
const bytesOf = ({ file }: Entry) => gunzipSync(readFileSync(resolve(corpus, file)));

describe.skipIf(!isThere)("the transcripts of the corpus", () => {
  it("are all there", () => expect(open).toHaveLength(75));

  it.each(open.map((entry) => [entry.file, entry] as const))("%s", async (_, entry) => {
    const bytes = bytesOf(entry);
    const { format, wire, transcript } = await readTranscript(bytes);
    expect(format).toBe(entry.format);
    const counts = countsOf(transcript);
    const isClose =
      Math.abs(counts.messages - entry.messages) <= 0.02 * entry.messages &&
      Math.abs(counts.toolResults - entry.toolResults) <= 0.02 * entry.toolResults;
    expect({ ...counts, isClose: isClose || isExplained(entry) }).toMatchObject({ isClose: true });
    expect(counts.summaries).toBe(entry.compactions);
    if (counts.summaries > 0) expect(findCompactionBoundary(transcript)).toBeGreaterThan(0);
    expect((await readTranscript(bytes, { keep: "live" })).transcript).toEqual(transcript);

    const own = formatOf(entry.format);
    const frozen = deepFreeze(wire);
    expect(own.apply(frozen, [], { at: 1 })).toBe(frozen);
    const edits = [
      ...compactionBoundary({ from: "marker" })(transcript),
      ...graduatedTiers({ limits: DOCUMENTED_TIER_LIMITS })(transcript),
    ];
    const edited = own.decode(own.apply(frozen, edits, { at: 1 }));
    expect(view(edited)).toEqual(view(applyEdits(transcript, edits, { at: 1 })));
  });
});

/** Counted as the manifest counts: without system prompts. */
function countsOf(transcript: Transcript) {
  const parts = transcript.flatMap((message) => message.parts);
  return {
    messages: transcript.filter((message) => message.role !== "system").length,
    toolResults: parts.filter((part) => part.type === "tool" && part.outcome.status !== "pending").length,
    summaries: transcript.filter((message) => message.summary).length,
  };
}

function view(transcript: Transcript): Transcript {
  return project(transcript).map((message, index) => ({
    ...message,
    id: `${index}`,
    // About the form of the wire, which an edit makes regular.
    parts: message.parts.map(({ irregular: _, ...part }) => part),
  }));
}
