import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lowerToSweAgent } from "../../../test/rig/random-history/lower-to-files.ts";
import { randomSession } from "../../../test/rig/random-history/random-history.ts";
import { HISTORY_WRITERS } from "../../../test/rig/random-history/write-history.ts";
import { runs } from "../../../test/rig/runs.ts";
import { formatLaws } from "../../testing/format-contract.ts";
import type { Edit, Stage } from "../../transcript/edit.ts";
import type { Format } from "../../transcript/format.ts";
import { formatOf, readTranscript } from "../read-transcript.ts";
import { SESSION_FORMATS, type SessionFormatName } from "../registry.ts";
import { createLineFormat } from "./create-line-format.ts";

/** What a compaction of our own does: the old half leaves, a marker and a summary stand in its place. */
const foldOldHalf: Stage = (messages) => {
  const half = messages.length >> 1;
  const after = messages[half - 1]?.id ?? null;
  const why = { stage: "test", reason: "summarized" } as const;
  const metadata = { kind: "compaction_summary" } as const;
  return [
    ...messages.slice(0, half).map(({ id }): Edit => ({ type: "hide-message", messageId: id, ...why })),
    {
      type: "insert-message",
      after,
      message: {
        id: "new-marker",
        role: "user",
        parts: [{ type: "compaction", trigger: "manual", overflow: true }],
        metadata: { kind: "compaction_marker" },
      },
      ...why,
    },
    {
      type: "insert-message",
      after: "new-marker",
      message: {
        id: "new-summary",
        role: "assistant",
        summary: true,
        finish: "stop",
        parentId: "new-marker",
        parts: [
          { type: "text", text: "what was done", synthetic: true },
          { type: "text", text: "<carried_facts>", synthetic: true },
        ],
        metadata,
      },
      ...why,
    },
  ];
};

/** Formats that have no record of a compaction. */
const WITHOUT_COMPACTION: readonly string[] = ["gemini-cli", "swe-agent"];

const formats = (Object.keys(SESSION_FORMATS) as SessionFormatName[])
  .filter((name) => name !== "opencode")
  .map((name) => ({
    name,
    write: name === "swe-agent" ? lowerToSweAgent : HISTORY_WRITERS[name],
    folds: !WITHOUT_COMPACTION.includes(name),
  }));

function checkLaws(format: Format<unknown>, wire: unknown, folds: boolean): void {
  const laws = formatLaws<unknown>({
    format,
    wire,
    stages: folds ? [foldOldHalf] : [],
    expectEqual: (actual, expected) => expect(actual).toEqual(expected),
  });
  for (const law of laws) {
    try {
      law.check();
    } catch (error) {
      throw new Error(law.name, { cause: error });
    }
  }
}

describe.each(formats)("the laws of $name", ({ name, write, folds }) => {
  const format = formatOf(name);

  it("hold on any conversation", () => {
    fc.assert(
      fc.property(randomSession(), (history) => checkLaws(format, write(history), folds)),
      { numRuns: runs(60, 20) },
    );
  });

  const folder = new URL(`../../../test/recordings/${name}/`, import.meta.url);
  it.each(readdirSync(folder))("hold on %s", async (file) => {
    const read = await readTranscript(readFileSync(new URL(file, folder)));
    expect(read).toMatchObject({ format: name, problems: [] });
    expect(read.transcript.length).toBeGreaterThan(2);
    checkLaws(format, read.wire, folds);
  });
});

it("looks at each line equally often, however many are written", () => {
  expect(looksPerLine(400)).toBeLessThanOrEqual(looksPerLine(50));
});

/** How often a reading is asked for its pieces, on average, while one message of so many lines is hidden. */
function looksPerLine(count: number): number {
  let looks = 0;
  const format = createLineFormat<readonly string[]>({
    name: "test",
    open: (wire) => wire,
    read: (lines) =>
      lines.map((line) => {
        const pieces = [{ half: "whole", part: { type: "text", text: `${line}` } }] as const;
        const counted = {
          get pieces() {
            looks++;
            return pieces;
          },
        };
        return [Object.assign(counted, { key: `${line}`, head: { role: "user" } })];
      }),
    write: (line) => ({ line }),
    create: () => [],
    answer: () => [],
    close: (_, placed) => placed.map(({ line }) => `${line}`),
  });
  const wire = Array.from({ length: count }, (_, index) => `line ${index}`);
  const edit: Edit = { type: "hide-message", messageId: "line 1", stage: "test", reason: "test" };
  expect(format.apply(wire, [edit], { at: 1 })).toHaveLength(count - 1);
  return looks / count;
}
