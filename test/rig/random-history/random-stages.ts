import { dropMedia, foldOlder } from "../../../src/compaction/recover.ts";
import {
  compactToolResultsInRecent,
  toolSummaryEdits,
} from "../../../src/compaction/tool-summaries/edits.ts";
import {
  planToolSummaries,
  readToolSummarySettings,
} from "../../../src/compaction/tool-summaries/plan-tool-summaries.ts";
import { omitForChild } from "../../../src/fork/context/omit.ts";
import { charBudget } from "../../../src/stages/budget.ts";
import { keepLines } from "../../../src/stages/lines/keep-lines.ts";
import { pruneStage } from "../../../src/stages/prune.ts";
import { redactTranscript } from "../../../src/stages/redact.ts";
import { supersede } from "../../../src/stages/supersede.ts";
import { graduatedTiers } from "../../../src/stages/tiers.ts";
import type { Edit, Stage } from "../../../src/transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../../src/transcript/message.ts";
import { toolResults } from "../../../src/transcript/tool-results.ts";
import { createSeededRandom, type SeededRandom } from "./seeded-random.ts";

/** A stage to try on a random history. */
export interface RandomStage {
  readonly name: string;
  readonly stage: (seed: number) => Stage;
  /** Set for edits that no policy would make of such histories: they may take the first or last message away, or speak into a tool loop. */
  readonly isWild?: true;
  /** Set for edits that hold a limit even where the newest message alone is over it. */
  readonly mayEmpty?: true;
  /** Set for edits that leave what the user has typed alone. */
  readonly keepsRequest?: true;
  /** Set for edits that never take more room than they save. */
  readonly saves?: true;
}

/** Everything of ours that edits a transcript, with limits so small that short histories feel it, and edits at random. */
export const RANDOM_STAGES: readonly RandomStage[] = [
  {
    name: "prune",
    keepsRequest: true,
    stage: () => pruneStage({ protectTokens: 0, minimumTokens: 0, protectTurns: 1 }),
  },
  { name: "supersede", keepsRequest: true, saves: true, stage: () => supersede({ protectTurns: 1 }) },
  {
    name: "tiers",
    keepsRequest: true,
    saves: true,
    stage: () =>
      graduatedTiers({
        limits: {
          tier1Count: 1,
          tier2Count: 1,
          resultChars: { 1: 200, 2: 60, 3: 20 },
          paramsChars: { 1: 100, 2: 40, 3: 20 },
        },
      }),
  },
  {
    name: "keep lines",
    keepsRequest: true,
    saves: true,
    stage: () => keepLines({ keepChars: 300, protectResults: 1 }),
  },
  { name: "small budget", saves: true, mayEmpty: true, stage: () => charBudget({ maxChars: 512 }) },
  { name: "budget", saves: true, mayEmpty: true, stage: () => charBudget({ maxChars: 3_000 }) },
  { name: "redact", stage: () => redactTranscript() },
  { name: "tool summaries", keepsRequest: true, stage: () => summarizeTools },
  {
    name: "recent results",
    keepsRequest: true,
    stage: () => (transcript) => compactToolResultsInRecent(transcript, 1),
  },
  { name: "drop media", keepsRequest: true, stage: () => (transcript) => dropMedia(transcript, "all") },
  {
    name: "fold into a pivot",
    keepsRequest: true,
    stage: () => (transcript) => foldOlder(transcript, { limitTokens: 4_000 }),
  },
  {
    name: "fold into a user summary",
    keepsRequest: true,
    stage: () => (transcript) =>
      foldOlder(transcript, { limitTokens: 4_000, representation: "user-summary" }),
  },
  { name: "omit for a child", keepsRequest: true, saves: true, stage: () => omitForChild() },
  { name: "clear outputs", keepsRequest: true, stage: (seed) => clearOutputs(createSeededRandom(seed)) },
  { name: "hide messages", isWild: true, stage: (seed) => hideMessages(createSeededRandom(seed)) },
  { name: "hide parts", isWild: true, stage: (seed) => hideParts(createSeededRandom(seed)) },
  { name: "insert messages", isWild: true, stage: (seed) => insertMessages(createSeededRandom(seed), seed) },
  { name: "move messages", isWild: true, stage: (seed) => moveMessages(createSeededRandom(seed)) },
];

const WHY = { stage: "random", reason: "test" } as const;

function summarizeTools(transcript: Transcript): readonly Edit[] {
  const settings = { toolCallCutoff: 1, toolSummaryStrategy: "heuristic" } as const;
  const answered = planToolSummaries(transcript, settings).batches.map((batch) => ({
    batch,
    answer: { status: "not-asked" } as const,
  }));
  return toolSummaryEdits(transcript, answered, readToolSummarySettings(settings)).edits;
}

function clearOutputs(dice: SeededRandom): Stage {
  return (transcript) =>
    toolResults(transcript)
      .filter(() => dice.chance(50))
      .map(({ message, partIndex }) => ({
        type: "hide-part",
        what: "output",
        messageId: message.id,
        partIndex,
        ...WHY,
      }));
}

function hideMessages(dice: SeededRandom): Stage {
  return (transcript) =>
    shown(transcript)
      .filter(() => dice.chance(25))
      .map((message) => ({ type: "hide-message", messageId: message.id, ...WHY }));
}

function hideParts(dice: SeededRandom): Stage {
  return (transcript) =>
    shown(transcript).flatMap((message) =>
      message.parts.flatMap((_, partIndex): readonly Edit[] =>
        dice.chance(20)
          ? [{ type: "hide-part", what: "part", messageId: message.id, partIndex, ...WHY }]
          : [],
      ),
    );
}

function insertMessages(dice: SeededRandom, seed: number): Stage {
  return (transcript) =>
    [null, ...shown(transcript).map((message) => message.id)]
      .filter(() => dice.chance(20))
      .map((after, index) => {
        const message: Message = {
          id: `inserted-${seed}-${index}`,
          role: dice.chance(70) ? "user" : "assistant",
          parts: [{ type: "text", text: `inserted ${index}`, synthetic: true }],
        };
        return { type: "insert-message", message, after, ...WHY };
      });
}

function moveMessages(dice: SeededRandom): Stage {
  return (transcript) => {
    const ids = shown(transcript).map((message) => message.id);
    return ids
      .filter(() => dice.chance(20))
      .map((messageId) => ({
        type: "move-message",
        messageId,
        after: dice.oneOf([null, ...ids]),
        ...WHY,
      }));
  };
}

/** What the wire shows and edits may touch; the system text is the host's. */
function shown(transcript: Transcript): Transcript {
  return transcript.filter((message) => isVisibleToModel(message) && message.role !== "system");
}
