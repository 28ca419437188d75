import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { isMalformed } from "../text/normalize.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { compact } from "./compact.ts";
import { planCompaction } from "./plan/plan-compaction.ts";
import { SUMMARY_TAGS } from "./summary/text.ts";

const fixtures = resolve(import.meta.dirname, "../../../shared/fixtures");
const hasShared = existsSync(fixtures);
if (!hasShared) console.log("skipped: the hostile texts and planted secrets of ../shared are not here");

const say = (id: string, role: string, text: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

/** A conversation in which one text comes in through every door. */
function sessionWith(text: string): Transcript {
  const part: ToolPart = {
    type: "tool",
    callId: "call",
    tool: text,
    input: { command: text },
    outcome: { status: "done", output: text, attachments: [] },
  };
  return [
    say("m1", "user", text),
    {
      id: "m2",
      role: "assistant",
      parts: [part, { ...part, callId: "b", outcome: { status: "failed", error: text } }],
    },
    say("m3", "assistant", `${"an ordinary answer ".repeat(2_500)}${text}`),
    say("m4", "user", "Go on."),
  ];
}

/** Everything that is new: the texts that a model reads, and the facts that are kept as data. */
async function writtenFor(text: string, answer: string) {
  const clock = createFakeClock();
  const summarizer = createFakeSummarizer(answer);
  const hooks = [{ name: "hook", compacting: () => ({ context: [text.slice(0, 60_000)] }) }];
  const plan = planCompaction({ transcript: sessionWith(text), trigger: "manual", tailTokens: 10 });
  const outcome = await clock.runUntilDone(compact(plan, { summarizer, clock }, { at: 1, hooks }));
  const inserted = outcome.edits.flatMap((edit) => (edit.type === "insert-message" ? [edit.message] : []));
  return {
    texts: [
      ...summarizer.calls.map(({ request }) => request.prompt),
      ...inserted.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : []))),
    ],
    facts: inserted.map(({ metadata }) => JSON.stringify(metadata?.carried ?? {})),
  };
}

describe.skipIf(!hasShared)("hostile texts through every door of a compaction", async () => {
  const { texts } = hasShared
    ? await import(pathToFileURL(resolve(fixtures, "hostile-inputs.mjs")).href)
    : { texts: () => [] };
  it.each(texts() as { id: string; text: string }[])("$id leaves every frame standing", async ({ text }) => {
    for (const answer of ["## Goal\nGo on.", `## Goal\n${text.slice(0, 2_000)}`]) {
      for (const written of (await writtenFor(text, answer)).texts) {
        expect(isMalformed(written)).toBe(false);
        for (const tag of SUMMARY_TAGS) {
          const opened = written.split(`<${tag}>`).length;
          expect(written.split(`</${tag}>`).length).toBe(opened);
          expect(opened).toBeLessThanOrEqual(2);
        }
      }
    }
  });
});

describe.skipIf(!hasShared)("planted secrets", async () => {
  const { makePositives, leaks } = hasShared
    ? await import(pathToFileURL(resolve(fixtures, "secrets-fixtures.mjs")).href)
    : { makePositives: () => [], leaks: () => false };

  it("reach neither the summarizer nor the summary", async () => {
    const leaked: string[] = [];
    const planted = makePositives() as { id: string; text: string; secret: string }[];
    for (const { id, text, secret } of planted) {
      const { texts, facts } = await writtenFor(text, `## Goal\nGo on.\n${text}`);
      if ([...texts, ...facts].some((each) => leaks(each, secret))) leaked.push(id);
    }
    expect(leaked).toEqual([]);
  });
});
