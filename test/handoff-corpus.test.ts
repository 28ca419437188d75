import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../src/formats/read-transcript.ts";
import type { FormatName } from "../src/formats/registry.ts";
import { type HandedOff, handOff } from "../src/handoff/handoff.ts";
import type { HandoffTarget } from "../src/handoff/receivers.ts";
import { outcomeText } from "../src/transcript/content.ts";
import { compactionPart, isVisibleToModel, project, type Transcript } from "../src/transcript/message.ts";
import { COMPACTION_QUESTION } from "../src/transcript/part.ts";
import { TARGETS } from "./rig/handoffs.ts";

const shared = resolve(import.meta.dirname, "../../shared/eval");
const corpora = ["corpus", "corpus2"]
  .map((name) => join(shared, name))
  .filter((folder) => existsSync(folder));
if (corpora.length === 0) console.log("handoff-corpus: skipped, ../shared/eval is not there");

/** All with `npm run test:all`; otherwise a share of those that are quickly read. */
const isLong = process.env.CARRYOVER_LONG !== undefined;
const files = corpora
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((file) => /^(?!.*manifest).*\.(jsonl?|gz)$/.test(file) && (isLong || statSync(file).size < 150_000))
  .filter((_, index) => isLong || index % 8 === 0);

describe.skipIf(files.length === 0)("a real session, handed over whole", () => {
  it.each(files.map((file) => [file.slice(shared.length + 1), file] as const))("%s", async (_, file) => {
    const packed = readFileSync(file);
    const { transcript, format } = await readTranscript(file.endsWith(".gz") ? gunzipSync(packed) : packed);
    if (format === "unknown") return;
    const seen = project(transcript).filter(isVisibleToModel);
    const original = figures(seen);
    for (const target of TARGETS) {
      const handed = hand(transcript, { target, format });
      const back = await readTranscript(Buffer.from(handed.content));
      expect(back.format).toBe(target);
      const found = figures(back.transcript);
      expect({ target, ...found }).toEqual({ target, calls: handed.calls, chars: handed.resultChars });
      expect({ target, results: handed.results }).toEqual({
        target,
        results: original.calls - pendingCalls(seen),
      });
      expect({ target, calls: handed.calls }).toEqual({ target, calls: original.calls });
      expect({ target, ...invented(seen, back.transcript) }).toEqual({ target, asked: [], taken: [] });
    }
    if (!seen.some((message) => compactionPart(message) !== undefined)) return;
    const sized = hand(transcript, { target: "pi", format, budgetChars: 400_000 });
    const back = await readTranscript(Buffer.from(sized.content));
    expect(invented(seen, back.transcript)).toEqual({ asked: [], taken: [] });
    expect(sized.summarized > 0).toBe(sized.unreadable === 0);
  });
});

function hand(
  transcript: Transcript,
  { target, format, budgetChars }: { target: HandoffTarget; format: FormatName; budgetChars?: number },
): HandedOff {
  let ids = 0;
  const newId = (): string => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`;
  return handOff(transcript, {
    target,
    head: { id: newId(), cwd: "/home/you/shop", at: 1_700_000_000_000, title: "A session", newId },
    secrets: "kept",
    source: { format, path: "/original" },
    ...(budgetChars !== undefined && { budgetChars }),
  });
}

/** What the user is made to ask, and what the user said and another is made to say. */
function invented(original: Transcript, handed: Transcript): { asked: string[]; taken: string[] } {
  const typed = new Set(textsOf(original, "user"));
  const answered = new Set(textsOf(original, "assistant"));
  return {
    asked: textsOf(handed, "user").filter((text) => text === COMPACTION_QUESTION && !typed.has(text)),
    taken: textsOf(handed, "assistant").filter((text) => typed.has(text) && !answered.has(text)),
  };
}

function textsOf(transcript: Transcript, role: string): string[] {
  const messages = transcript.filter((message) => message.role === role && message.summary !== true);
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
}

function figures(transcript: Transcript): { readonly calls: number; readonly chars: number } {
  const calls = transcript.flatMap(({ parts }) =>
    parts.filter((part) => part.type === "tool" && !part.callMissing),
  );
  const chars = calls.reduce(
    (sum, part) => sum + (part.type === "tool" ? outcomeText(part.outcome).length : 0),
    0,
  );
  return { calls: calls.length, chars };
}

function pendingCalls(transcript: Transcript): number {
  const parts = transcript.flatMap((message) => message.parts);
  return parts.filter((part) => part.type === "tool" && part.outcome.status === "pending").length;
}
