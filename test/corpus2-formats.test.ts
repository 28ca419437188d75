import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { formatOf, readTranscript } from "../src/formats/read-transcript.ts";
import { compactionBoundary } from "../src/stages/boundary.ts";
import { DOCUMENTED_TIER_LIMITS, graduatedTiers } from "../src/stages/tiers.ts";
import { asArray, asObject, type UnknownObject } from "../src/text/unknown-value.ts";
import { applyEdits } from "../src/transcript/edit.ts";
import { project, type Transcript } from "../src/transcript/message.ts";
import { deepFreeze } from "./rig/notation.ts";

const corpus = resolve(import.meta.dirname, "../../shared/eval/corpus2");
const isThere = existsSync(resolve(corpus, "manifest.json"));
if (!isThere) console.log("corpus2-formats: skipped, ../shared/eval/corpus2 is not there");

interface Entry {
  readonly file: string;
  readonly format: "claude-code" | "codex";
  readonly gz_bytes: number;
}

/** All with `npm run test:all`; otherwise a share of those that are quickly read. */
const isLong = process.env.CARRYOVER_LONG !== undefined;
const entries: readonly Entry[] = isThere
  ? JSON.parse(readFileSync(resolve(corpus, "manifest.json"), "utf8"))
  : [];
const read = entries.filter(
  ({ format, gz_bytes }, index) =>
    isLong || (gz_bytes < 130_000 && (format === "codex" ? true : index % 6 === 0)),
);

/** Lines that are of a branch that was left. */
const LEFT: Readonly<Record<string, Partial<Counts>>> = {
  // A question that was written anew.
  "claude-code/fe3ed705": { users: 129 },
};

describe.skipIf(!isThere)("a real session of the second corpus", () => {
  it("is one of 53", () => expect(entries).toHaveLength(53));

  it.each(read.map((entry) => [entry.file, entry] as const))("%s", async (_, { file, format }) => {
    const bytes = gunzipSync(readFileSync(resolve(corpus, file)));
    const lines = bytes
      .toString("utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => asObject(JSON.parse(line)));
    const found = await readTranscript(bytes);
    expect(found).toMatchObject({ format, problems: [] });
    const { transcript } = found;
    const counted = format === "codex" ? countCodex(lines) : countClaudeCode(lines);
    expect(countsOf(transcript)).toEqual({ ...counted, ...LEFT[file.slice(0, 20)] });
    expect((await readTranscript(bytes, { keep: "live" })).transcript).toEqual(transcript);

    const own = formatOf(format);
    const frozen = deepFreeze(found.wire);
    expect(own.apply(frozen, [], { at: 1 })).toBe(frozen);
    const edits = [
      ...compactionBoundary({ from: "marker" })(transcript),
      ...graduatedTiers({ limits: DOCUMENTED_TIER_LIMITS })(transcript),
    ];
    const edited = own.decode(own.apply(frozen, edits, { at: 1 }));
    expect(view(edited)).toEqual(view(applyEdits(transcript, edits, { at: 1 })));
  });
});

interface Counts {
  readonly users: number;
  readonly calls: number;
  readonly results: number;
  readonly compactions: number;
  /** Of each answer whose tokens are recorded. */
  readonly outputTokens: readonly number[];
}

function countsOf(transcript: Transcript): Counts {
  const calls = transcript.flatMap(({ parts }) =>
    parts.filter((part) => part.type === "tool" && !part.callMissing),
  );
  return {
    users: transcript.filter(({ role, parts }) => role === "user" && parts[0]?.type !== "compaction").length,
    calls: calls.length,
    results: calls.filter((part) => part.type === "tool" && part.outcome.status !== "pending").length,
    compactions: transcript.filter(({ summary }) => summary).length,
    outputTokens: transcript.flatMap(({ usage }) => usage?.outputTokens ?? []),
  };
}

/** A plain count of a rollout's lines. */
function countCodex(lines: readonly UnknownObject[]): Counts {
  const items = lines.filter(({ type }) => type === "response_item").map(({ payload }) => asObject(payload));
  const count = (...types: readonly string[]): number =>
    items.filter(({ type }) => types.includes(`${type}`)).length;
  const outputTokens: number[] = [];
  let isAnswered = false;
  for (const { type, payload } of lines) {
    const item = asObject(payload);
    if (type === "compacted") isAnswered = false;
    if (type === "response_item" && (/_call$|^reasoning$/.test(`${item.type}`) || item.role === "assistant"))
      isAnswered = true;
    const used = asObject(asObject(item.info).last_token_usage).output_tokens;
    if (type !== "event_msg" || item.type !== "token_count" || typeof used !== "number" || !isAnswered)
      continue;
    outputTokens.push(used);
    isAnswered = false;
  }
  return {
    users: items.filter(({ type, role }) => type === "message" && role === "user").length,
    calls: count("function_call", "custom_tool_call", "local_shell_call", "tool_search_call"),
    results: count("function_call_output", "custom_tool_call_output", "tool_search_output"),
    compactions: lines.filter(({ type }) => type === "compacted").length,
    outputTokens,
  };
}

/** A plain count of a session's lines. */
function countClaudeCode(lines: readonly UnknownObject[]): Counts {
  const blocks = (type: string, of: string): readonly UnknownObject[] =>
    lines
      .filter((line) => line.type === of)
      .flatMap(({ message }) => asArray(asObject(message).content).map(asObject))
      .filter((block) => block.type === type);
  const tokens = new Map<string, number>();
  for (const { type, message } of lines) {
    const { id, model, usage } = asObject(message);
    if (type === "assistant" && model !== "<synthetic>")
      tokens.set(`${id}`, Number(asObject(usage).output_tokens));
  }
  const isAsked = ({ type, message, isCompactSummary }: UnknownObject): boolean => {
    const { content } = asObject(message);
    const isResult = asArray(content).some((block) => asObject(block).type === "tool_result");
    return type === "user" && !isResult && isCompactSummary !== true;
  };
  return {
    users: lines.filter(isAsked).length,
    calls: new Set(blocks("tool_use", "assistant").map(({ id }) => id)).size,
    results: new Set(blocks("tool_result", "user").map(({ tool_use_id }) => tool_use_id)).size,
    compactions: lines.filter(({ subtype }) => subtype === "compact_boundary").length,
    outputTokens: [...tokens.values()],
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
