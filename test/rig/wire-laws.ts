import { expect } from "vitest";
import { dropMedia } from "../../src/compaction/recover.ts";
import { omitForChild } from "../../src/fork/context/omit-for-child.ts";
import { charBudget } from "../../src/stages/char-budget.ts";
import { pruneStage } from "../../src/stages/prune.ts";
import { redactTranscript } from "../../src/stages/redact.ts";
import { repairPairing } from "../../src/stages/repair.ts";
import { supersede } from "../../src/stages/supersede.ts";
import { DOCUMENTED_TIER_LIMITS, graduatedTiers } from "../../src/stages/tiers.ts";
import { contentView, formatLaws } from "../../src/testing/format-contract.ts";
import { toolResults } from "../../src/transcript/content.ts";
import type { Edit, Stage } from "../../src/transcript/edit.ts";
import type { Format } from "../../src/transcript/format.ts";

/** Checks the laws of a format on one wire of a provider, with the edits of the real stages. */
export function checkWireLaws<Wire>(format: Format<Wire>, wire: Wire): void {
  const laws = formatLaws<Wire>({
    format,
    wire,
    stages: WIRE_STAGES,
    repair: repairRequest,
    view: contentView,
    repairedRules: REPAIRED_RULES,
    ruleGroup: (rule) => (PAIRING_RULES.includes(rule) ? "pairing" : rule),
    expectEqual: (actual, expected) => expect(actual).toEqual(expected),
  });
  for (const law of laws) {
    try {
      law.check();
    } catch (cause) {
      throw new Error(`the law is broken: ${law.name}`, { cause });
    }
  }
}

/** The repair of a request, which has to end with the user. */
export const repairRequest: Stage = (messages) => repairPairing(messages, { lastMessage: "user" });

/** What a cut can bring about and only the repair can mend: who has the first and the last word. */
export const REPAIRED_RULES: readonly string[] = [
  "first-message-is-user",
  "common-08",
  "common-09",
  "anthropic-26",
  "gemini-41",
  "gemini-42",
];

/** A result that lost its call is one fault, whatever it is called: it may have been a second or a late one before. */
const PAIRING_RULES = ["common-01", "common-02", "common-03", "common-04", "common-05", "common-06"];
const WHY = { stage: "test", reason: "test" };

const clearEverything: Stage = (messages) =>
  toolResults(messages).map(
    ({ message, partIndex }): Edit => ({
      type: "hide-part",
      what: "output",
      messageId: message.id,
      partIndex,
      ...WHY,
    }),
  );

const hideEveryOtherMessage: Stage = (messages) =>
  messages.flatMap((message, index): Edit[] =>
    index % 2 === 1 ? [{ type: "hide-message", messageId: message.id, ...WHY }] : [],
  );

const hideEveryOtherCall: Stage = (messages) =>
  toolResults(messages).flatMap(({ message, partIndex }, index): Edit[] =>
    index % 2 === 0 ? [{ type: "hide-part", what: "part", messageId: message.id, partIndex, ...WHY }] : [],
  );

const insertBehindEach: Stage = (messages) =>
  messages.map(
    (message): Edit => ({
      type: "insert-message",
      message: {
        id: `${message.id}-marker`,
        role: "user",
        parts: [{ type: "compaction", trigger: "auto" }],
      },
      after: message.id,
      ...WHY,
    }),
  );

const sumUpTheBeginning: Stage = (messages) => [
  ...messages.slice(0, -3).map((message): Edit => ({ type: "hide-message", messageId: message.id, ...WHY })),
  {
    type: "insert-message",
    message: {
      id: "summary",
      role: "assistant",
      summary: true,
      parts: [{ type: "text", text: "what was done" }],
    },
    after: null,
    ...WHY,
  },
];

/** The system text stands before all messages, whatever is moved. */
const moveTheLastToTheFront: Stage = (messages) =>
  messages.slice(-1).map(
    (message): Edit => ({
      type: "move-message",
      messageId: message.id,
      after: messages.filter(({ role }) => role === "system").at(-1)?.id ?? null,
      ...WHY,
    }),
  );

/** Edits of every kind, most of them by the stages that make them. */
export const WIRE_STAGES: readonly Stage[] = [
  omitForChild(),
  pruneStage({ protectTokens: 0, minimumTokens: 0, protectTurns: 0 }),
  graduatedTiers({ limits: { ...DOCUMENTED_TIER_LIMITS, tier1Count: 1, tier2Count: 1 } }),
  charBudget({ maxChars: 512 }),
  supersede({ protectTurns: 0 }),
  redactTranscript(),
  (messages) => dropMedia(messages, "all"),
  clearEverything,
  hideEveryOtherMessage,
  hideEveryOtherCall,
  insertBehindEach,
  sumUpTheBeginning,
  moveTheLastToTheFront,
  (messages) => repairPairing(messages, { missingResult: "strip", orphanResult: "asText" }),
];
