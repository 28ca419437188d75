import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { History } from "../../../test/rig/random-history/history.ts";
import {
  lowerToClaudeCode,
  lowerToCodex,
  lowerToGeminiCli,
  lowerToPi,
  lowerToSweAgent,
} from "../../../test/rig/random-history/lower-to-files.ts";
import { lowerToOpencode2 } from "../../../test/rig/random-history/lower-to-opencode2.ts";
import { randomSession } from "../../../test/rig/random-history/random-history.ts";
import { runs } from "../../../test/rig/runs.ts";
import { omitForChild } from "../../fork/context/omit-for-child.ts";
import { compactionBoundary } from "../../stages/boundary.ts";
import { charBudget } from "../../stages/char-budget.ts";
import { repairPairing } from "../../stages/repair.ts";
import { DOCUMENTED_TIER_LIMITS, graduatedTiers } from "../../stages/tiers.ts";
import { formatLaws } from "../../testing/format-contract.ts";
import { toolResults } from "../../transcript/content.ts";
import type { Edit, Stage } from "../../transcript/edit.ts";
import type { Format } from "../../transcript/format.ts";
import { formatOf, readTranscript } from "../read-transcript.ts";
import { createLineFormat } from "./create-line-format.ts";

const clearEverything: Stage = (messages) =>
  toolResults(messages).map(
    ({ message, partIndex }): Edit => ({
      type: "hide-part",
      what: "output",
      messageId: message.id,
      partIndex,
      stage: "test",
      reason: "pruned",
    }),
  );

/** Every other part leaves, which takes lines out of the middle of messages. */
const hideEveryOtherPart: Stage = (messages) => {
  let number = 0;
  return messages.flatMap((message) =>
    message.parts.flatMap((_, partIndex): readonly Edit[] =>
      number++ % 2 === 0
        ? [
            {
              type: "hide-part",
              what: "part",
              messageId: message.id,
              partIndex,
              stage: "test",
              reason: "test",
            },
          ]
        : [],
    ),
  );
};

const hideEveryThirdMessage: Stage = (messages) =>
  messages
    .filter((_, index) => index % 3 === 2)
    .map(({ id }): Edit => ({ type: "hide-message", messageId: id, stage: "test", reason: "test" }));

const hideNewest: Stage = (messages) =>
  messages
    .slice(-2)
    .map(({ id }): Edit => ({ type: "hide-message", messageId: id, stage: "test", reason: "test" }));

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

const stages: readonly Stage[] = [
  compactionBoundary({ from: "summary" }),
  compactionBoundary({ from: "marker" }),
  omitForChild(),
  graduatedTiers({ limits: { ...DOCUMENTED_TIER_LIMITS, tier1Count: 1, tier2Count: 1 } }),
  charBudget({ maxChars: 512 }),
  clearEverything,
  (messages) => repairPairing(messages, { missingResult: "strip", orphanResult: "asText" }),
  (messages) => repairPairing(messages),
  hideEveryOtherPart,
  hideEveryThirdMessage,
  hideNewest,
];

const formats: readonly {
  readonly name: Parameters<typeof formatOf>[0];
  readonly write: (history: History) => unknown;
  readonly folds: boolean;
}[] = [
  { name: "claude-code", write: lowerToClaudeCode, folds: true },
  { name: "pi", write: lowerToPi, folds: true },
  { name: "codex", write: lowerToCodex, folds: true },
  { name: "gemini-cli", write: lowerToGeminiCli, folds: false },
  { name: "swe-agent", write: lowerToSweAgent, folds: false },
  { name: "opencode2", write: lowerToOpencode2, folds: true },
];

function checkLaws(format: Format<unknown>, wire: unknown, folds: boolean): void {
  const laws = formatLaws<unknown>({
    format,
    wire,
    stages: folds ? [...stages, foldOldHalf] : stages,
    repair: repairPairing,
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
