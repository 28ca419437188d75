import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { explainCost } from "../src/cost/explain-cost.ts";
import { readRequests } from "../src/cost/read-requests.ts";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { asArray, asObject, type UnknownObject } from "../src/text/unknown-value.ts";

const corpora = resolve(import.meta.dirname, "../../shared/eval");
const isThere = existsSync(join(corpora, "corpus")) && existsSync(join(corpora, "corpus2"));
if (!isThere) console.log("corpus-cost: skipped, ../shared/eval has no corpora");

/** All of them with CARRYOVER_LONG, otherwise every tenth of Claude Code's. */
function filesOf(folder: string): readonly string[] {
  if (!isThere) return [];
  const names = readdirSync(join(corpora, folder)).filter((name) => name.endsWith(".gz"));
  const isLong = process.env.CARRYOVER_LONG !== undefined || !folder.endsWith("claude-code");
  return names.filter((_, index) => isLong || index % 10 === 0).map((name) => join(corpora, folder, name));
}

const textOf = (path: string): string => gunzipSync(readFileSync(path)).toString("utf8");

function linesOf(path: string): readonly UnknownObject[] {
  return textOf(path)
    .split("\n")
    .flatMap((line) => {
      try {
        return [asObject(JSON.parse(line))];
      } catch {
        return [];
      }
    });
}

/** Adds the counts of one usage to sums by name. */
function add(sums: Record<string, number>, usage: UnknownObject): void {
  for (const [name, count] of Object.entries(usage))
    if (typeof count === "number") sums[name] = (sums[name] ?? 0) + count;
}

describe.skipIf(!isThere)("the cost of a real session adds up to what its file records", () => {
  const claude = ["corpus/claude-code", "corpus2/claude-code"].flatMap(filesOf);
  it.each(claude.map((path) => [basename(path), path]))("of Claude Code: %s", (_, path) => {
    const wire = linesOf(path);
    const byAnswer = new Map(
      wire
        .filter(({ type, message }) => type === "assistant" && asObject(message).model !== "<synthetic>")
        .map(({ message }) => [asObject(message).id, asObject(asObject(message).usage)]),
    );
    const sums: Record<string, number> = {};
    for (const usage of byAnswer.values()) add(sums, usage);
    const { totals } = explainCost(readRequests({ format: "claude-code", wire, transcript: [] }));
    expect(totals).toMatchObject({
      requests: byAnswer.size,
      inputTokens: sums.input_tokens,
      outputTokens: sums.output_tokens,
      cacheReadTokens: sums.cache_read_input_tokens,
      cacheWriteTokens: sums.cache_creation_input_tokens,
      unpriced: 0,
    });
  });

  it.each(filesOf("corpus2/codex").map((path) => [basename(path), path]))("of Codex: %s", (_, path) => {
    const wire = linesOf(path);
    const counts = wire.flatMap(({ payload }) => {
      const { type, info } = asObject(payload);
      return type === "token_count" && info ? [asObject(asObject(info).total_token_usage)] : [];
    });
    const { totals } = explainCost(readRequests({ format: "codex", wire, transcript: [] }));
    // The running total of the agent itself, at the end of the session.
    expect({
      input_tokens: totals.inputTokens + totals.cacheReadTokens + totals.cacheWriteTokens,
      cached_input_tokens: totals.cacheReadTokens,
      output_tokens: totals.outputTokens,
      reasoning_output_tokens: totals.reasoningTokens,
    }).toEqual(without(counts.at(-1) ?? {}, "total_tokens"));
  });

  it.each(filesOf("corpus/opencode").map((path) => [basename(path), path]))("of OpenCode: %s", (_, path) => {
    const wire = asObject(JSON.parse(textOf(path)));
    const { totals } = explainCost(readRequests({ format: "opencode", wire, transcript: [] }));
    // The session's own sums.
    const { tokens, cost } = asObject(wire.info);
    expect({
      input: totals.inputTokens,
      output: totals.outputTokens,
      reasoning: totals.reasoningTokens,
      cache: { read: totals.cacheReadTokens, write: totals.cacheWriteTokens },
    }).toEqual(tokens);
    expect(totals.costUSD).toBeCloseTo(cost as number, 9);
  });

  it.each(filesOf("corpus/pi").map((path) => [basename(path), path]))("of pi: %s", (_, path) => {
    const wire = linesOf(path);
    const usages = wire.flatMap(({ message }) => {
      const { usage } = asObject(message);
      return usage === undefined ? [] : [asObject(usage)];
    });
    const sums: Record<string, number> = {};
    for (const usage of usages) add(sums, usage);
    const recorded = usages.reduce((sum, { cost }) => sum + (asObject(cost).total as number), 0);
    const requests = readRequests({ format: "pi", wire, transcript: [] });
    const { totals } = explainCost(requests);
    expect(totals).toMatchObject({
      requests: usages.length,
      inputTokens: sums.input,
      outputTokens: sums.output,
      cacheReadTokens: sums.cacheRead,
      cacheWriteTokens: sums.cacheWrite,
    });
    expect(totals.costUSD).toBeCloseTo(recorded, 6);
    // Two tables of prices that know nothing of each other: pi's and ours.
    const byTable = explainCost(requests, { models: [] }).totals;
    if (byTable.unpriced === 0) expect(byTable.costUSD).toBeCloseTo(recorded, 2);
  });

  it.each(filesOf("corpus/gemini-cli").map((path) => [basename(path), path]))(
    "of Gemini CLI: %s",
    async (_, path) => {
      const text = textOf(path);
      const sums: Record<string, number> = {};
      for (const { tokens } of asArray(asObject(JSON.parse(text)).messages).map(asObject))
        add(sums, asObject(tokens));
      const { transcript, wire } = await readTranscript(Buffer.from(text));
      const { totals } = explainCost(readRequests({ format: "gemini-cli", wire, transcript }));
      expect({
        input: totals.inputTokens + totals.cacheReadTokens,
        cached: totals.cacheReadTokens,
        output: totals.outputTokens,
        thoughts: totals.reasoningTokens,
        // What is thought is charged as output, and counted beside it.
        total: totals.inputTokens + totals.cacheReadTokens + totals.billedOutputTokens,
      }).toEqual(without(sums, "tool"));
    },
  );
});

function without(object: UnknownObject, name: string): UnknownObject {
  const { [name]: _, ...rest } = object;
  return rest;
}
