import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { handOff } from "../src/handoff/handoff.ts";
import type { HandoffTarget } from "../src/handoff/tool-calls.ts";
import { isVisibleToModel, project, type Transcript } from "../src/transcript/message.ts";
import { outcomeText } from "../src/transcript/part.ts";

const shared = resolve(import.meta.dirname, "../../shared/eval");
const corpora = ["corpus", "corpus2"]
  .map((name) => join(shared, name))
  .filter((folder) => existsSync(folder));
if (corpora.length === 0) console.log("handoff-corpus: skipped, ../shared/eval is not there");

const TARGETS: readonly HandoffTarget[] = ["claude-code", "codex", "opencode", "opencode2", "pi"];
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
    const original = figures(project(transcript).filter(isVisibleToModel));
    for (const target of TARGETS) {
      let ids = 0;
      const newId = (): string => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`;
      const handed = handOff(transcript, {
        target,
        head: { id: newId(), cwd: "/home/you/shop", at: 1_700_000_000_000, title: "A session", newId },
        secrets: "kept",
        source: { format, path: "/original" },
      });
      const back = await readTranscript(Buffer.from(handed.content));
      expect(back.format).toBe(target);
      const found = figures(back.transcript);
      expect({ target, ...found }).toEqual({ target, calls: handed.calls, chars: handed.resultChars });
      expect(handed.results).toBe(handed.calls);
      expect({ target, calls: handed.calls }).toEqual({ target, calls: original.calls });
    }
  });
});

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
