import { dropMedia } from "../compaction/recover.ts";
import { omitForChild } from "../fork/context/omit-for-child.ts";
import { compactionBoundary } from "../stages/boundary.ts";
import { charBudget } from "../stages/char-budget.ts";
import { pruneStage } from "../stages/prune.ts";
import { redactTranscript } from "../stages/redact.ts";
import { repairPairing } from "../stages/repair.ts";
import { supersede } from "../stages/supersede.ts";
import { DOCUMENTED_TIER_LIMITS, graduatedTiers } from "../stages/tiers.ts";
import { toolResults } from "../transcript/content.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import { type Message, reachesModel, type Transcript } from "../transcript/message.ts";

const WHY = { stage: "test", reason: "test" } as const;

/** Edits of every kind that any format can write: those of the real stages, with small limits, and some at regular places. */
export const FORMAT_STAGES: readonly Stage[] = [
  compactionBoundary({ from: "summary" }),
  compactionBoundary({ from: "marker" }),
  omitForChild(),
  pruneStage({ protectTokens: 0, minimumTokens: 0, protectTurns: 0 }),
  graduatedTiers({ limits: { ...DOCUMENTED_TIER_LIMITS, tier1Count: 1, tier2Count: 1 } }),
  charBudget({ maxChars: 512 }),
  supersede({ protectTurns: 0 }),
  redactTranscript(),
  (messages) => dropMedia(messages, "all"),
  (messages) => repairPairing(messages, { missingResult: "strip", orphanResult: "asText" }),
  (messages) => repairPairing(messages),
  clearEveryOutput,
  hideEveryOtherPart,
  (messages) => hide(messages.filter((_, index) => index % 2 === 1)),
  (messages) => hide(messages.filter((_, index) => index % 3 === 2)),
  (messages) => hide(messages.slice(-2)),
  rewriteEveryText,
];

function clearEveryOutput(messages: Transcript): readonly Edit[] {
  return toolResults(messages).map(({ message, partIndex }) => ({
    type: "hide-part",
    what: "output",
    messageId: message.id,
    partIndex,
    ...WHY,
  }));
}

/** Takes pieces out of the middle of messages. */
function hideEveryOtherPart(messages: Transcript): readonly Edit[] {
  return messages
    .flatMap(({ id: messageId, parts }) => parts.map((_, partIndex) => ({ messageId, partIndex })))
    .filter((_, number) => number % 2 === 0)
    .map((place) => ({ type: "hide-part", what: "part", ...place, ...WHY }));
}

function hide(messages: readonly Message[]): readonly Edit[] {
  return messages.map(({ id }) => ({ type: "hide-message", messageId: id, ...WHY }));
}

function rewriteEveryText(messages: Transcript): readonly Edit[] {
  return messages.flatMap(({ id: messageId, parts }) =>
    parts.flatMap((part, partIndex): readonly Edit[] =>
      part.type === "text" && part.providerBlock === undefined && reachesModel(part)
        ? [
            {
              type: "replace-part",
              messageId,
              partIndex,
              part: { ...part, text: `${part.text} (again)` },
              ...WHY,
            },
          ]
        : [],
    ),
  );
}
