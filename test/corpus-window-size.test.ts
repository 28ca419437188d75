import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { profileSession } from "../src/cli/inspect/profile-session.ts";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { createInspection } from "../src/inspector/view/inspection.ts";
import { totalOf } from "../src/inspector/view/kinds.ts";
import { measureWindow } from "../src/session/recorded-measure.ts";
import { createSession } from "../src/session/session.ts";
import { findCompletedCompaction } from "../src/stages/boundary.ts";
import { reportsContextUsage, usageTotalTokens } from "../src/transcript/estimate-context.ts";
import { type Message, type Transcript, type Usage, withUniqueIds } from "../src/transcript/message.ts";
import { sessionOf } from "./rig/inspector/check-view.ts";

const corpora = ["corpus", "corpus2"].map((name) => resolve(import.meta.dirname, "../../shared/eval", name));
const isThere = corpora.every((corpus) => existsSync(corpus));
if (!isThere) console.log("corpus-window-size: skipped, ../shared/eval/corpus and corpus2 are not there");

/** All with `npm run test:all`, otherwise every eighth. */
const every = process.env.CARRYOVER_LONG === undefined ? 8 : 1;
const files = isThere
  ? corpora.flatMap((corpus) =>
      readdirSync(corpus, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".gz"))
        .sort()
        .map((name) => join(corpus, name)),
    )
  : [];

describe.skipIf(!isThere)("the size of a window", () => {
  it.each(files.filter((_, index) => index % every === 0))("%s", async (path) => {
    const transcript = withUniqueIds((await readTranscript(gunzipSync(readFileSync(path)))).transcript);
    const size = measureWindow(transcript);
    expect(profileSession(transcript, { top: 1 }).window).toMatchObject({
      tokens: size.tokens,
      tokensLow: size.low,
      tokensHigh: size.high,
      source: size.source,
    });
    const inspection = createInspection(sessionOf(transcript));
    for (const { index, tokens, kinds, isCounted } of inspection.windowOverTime().points) {
      if (isCounted) expect(tokens).toBe(usageTotalTokens(transcript[index]?.usage));
      expect(totalOf(kinds), `at message ${index}`).toBeCloseTo(tokens, 3);
    }
    expect(inspection.inspectWindow({ policy: "as-sent" }).size).toMatchObject({
      tokens: size.tokens,
      source: size.source,
    });
    // A session that knows its window estimates before it has learned the provider's scale, and keeps that for a while.
    expect(Math.abs(sessionTokens(transcript) - size.tokens)).toBeLessThanOrEqual(size.high - size.low);

    const last = transcript.findLastIndex(reportsContextUsage);
    if (last === -1) return expect(size.source).toBe("heuristic");
    const counted = usageTotalTokens(transcript[last]?.usage);
    const atRequest = measureWindow(transcript.slice(0, last + 1));
    expect(atRequest).toMatchObject({ source: "usage", usageTokens: counted });
    expect(atRequest.tokens).toBe(counted + atRequest.trailingTokens);

    for (const [index, message] of transcript.entries()) {
      const past = transcript.slice(0, index + 1);
      if (!message.summary || findCompletedCompaction(past)?.summaryIndex !== index) continue;
      expect(measureWindow(past), `after message ${index}`).toMatchObject({
        source: "heuristic",
        usageTokens: 0,
      });
    }
  });
});

function sessionTokens(transcript: Transcript): number {
  const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
  const session = createSession(
    { clock: { now: () => 0, sleep: async () => {} } },
    { ...(model && { model }), toolOutput: "off" },
  );
  session.observe(transcript);
  return session.status().tokens;
}

describe("the size of a window after a compaction", () => {
  const counted = (inputTokens: number, outputTokens: number): Usage => ({
    inputTokens,
    outputTokens,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  });
  const said = (id: string, role: "user" | "assistant", more: Partial<Message> = {}): Message => ({
    id,
    role,
    parts: [{ type: "text", text: "words of the session ".repeat(40) }],
    ...more,
  });
  const marker: Message = {
    id: "m",
    role: "user",
    parts: [{ type: "compaction", trigger: "auto", tailStartId: "u2" }],
  };
  const compacted = [
    said("u1", "user"),
    said("a1", "assistant"),
    said("u2", "user"),
    said("a2", "assistant", { usage: counted(177_000, 657) }),
    marker,
    said("s", "assistant", { summary: true, parentId: "m" }),
  ];

  it("forgets what the provider counted in the tail that was kept", () => {
    expect(measureWindow(compacted.slice(0, 4))).toMatchObject({ tokens: 177_657, source: "usage" });
    const size = measureWindow(compacted);
    expect(size).toMatchObject({ source: "heuristic", tokens: size.messageTokens });
    expect(size.tokens).toBeLessThan(2_000);
    expect(size.outsideTokens).toBeUndefined();
  });

  it("is counted again by the next answer", () => {
    const answer = said("a3", "assistant", { usage: counted(30_000, 400) });
    const size = measureWindow([...compacted, said("u3", "user"), answer]);
    expect(size).toMatchObject({ source: "usage", tokens: 30_400 });
    expect(size.outsideTokens).toBe(30_400 - size.messageTokens);
  });
});
