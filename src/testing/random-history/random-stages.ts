import { compactToolResultsInRecent } from "../../compaction/compact-tool-results-in-recent.ts";
import { planToolSummaries } from "../../compaction/plan-tool-summaries.ts";
import { dropMedia } from "../../compaction/recover-drop-media.ts";
import { foldOld } from "../../compaction/recover-fold.ts";
import { toolSummaryEdits } from "../../compaction/tool-summary-edits.ts";
import { readToolSummarySettings } from "../../compaction/tool-summary-settings.ts";
import { charBudget } from "../../stages/char-budget.ts";
import { graduatedTiers } from "../../stages/graduated-tiers.ts";
import { keepLines } from "../../stages/keep-lines.ts";
import { omitForChild } from "../../stages/omit-for-child.ts";
import { pruneStage } from "../../stages/prune.ts";
import { redactTranscript } from "../../stages/redact-transcript.ts";
import { supersede } from "../../stages/supersede.ts";
import type { Edit, Stage } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { toolResults } from "../../transcript/tool-results.ts";
import { isVisibleToModel } from "../../transcript/visibility.ts";
import { createDice, type Dice } from "./dice.ts";

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
    stage: () => (transcript) => foldOld(transcript, { limitTokens: 4_000 }),
  },
  {
    name: "fold into a user summary",
    keepsRequest: true,
    stage: () => (transcript) => foldOld(transcript, { limitTokens: 4_000, representation: "user-summary" }),
  },
  { name: "omit for a child", keepsRequest: true, saves: true, stage: () => omitForChild() },
  { name: "clear outputs", keepsRequest: true, stage: (seed) => clearOutputs(createDice(seed)) },
  { name: "hide messages", isWild: true, stage: (seed) => hideMessages(createDice(seed)) },
  { name: "hide parts", isWild: true, stage: (seed) => hideParts(createDice(seed)) },
  { name: "insert messages", isWild: true, stage: (seed) => insertMessages(createDice(seed), seed) },
  { name: "move messages", isWild: true, stage: (seed) => moveMessages(createDice(seed)) },
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

function clearOutputs(dice: Dice): Stage {
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

function hideMessages(dice: Dice): Stage {
  return (transcript) =>
    shown(transcript)
      .filter(() => dice.chance(25))
      .map((message) => ({ type: "hide-message", messageId: message.id, ...WHY }));
}

function hideParts(dice: Dice): Stage {
  return (transcript) =>
    shown(transcript).flatMap((message) =>
      message.parts.flatMap((_, partIndex): readonly Edit[] =>
        dice.chance(20)
          ? [{ type: "hide-part", what: "part", messageId: message.id, partIndex, ...WHY }]
          : [],
      ),
    );
}

function insertMessages(dice: Dice, seed: number): Stage {
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

function moveMessages(dice: Dice): Stage {
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
