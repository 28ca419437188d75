import { expect } from "vitest";
import { repairPairing } from "../../src/stages/repair.ts";
import { type FormatContract, formatLaws } from "../../src/testing/format-contract.ts";
import { FORMAT_STAGES } from "../../src/testing/format-stages.ts";
import { toolResults } from "../../src/transcript/content.ts";
import type { Edit, Stage } from "../../src/transcript/edit.ts";
import type { Format } from "../../src/transcript/format.ts";
import { contentView } from "./content-view.ts";

/** Checks the laws of a format on one wire of a provider; an edit may break `brokenRules` more than the wire itself does. */
export function checkWireLaws<Wire>(
  format: Format<Wire>,
  wire: Wire,
  brokenRules: readonly string[] = [],
): void {
  const laws = formatLaws<unknown>({
    ...WIRE_CONTRACT,
    format: format as Format<unknown>,
    wire,
    repairedRules: [...REPAIRED_RULES, ...brokenRules],
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

const WHY = { stage: "test", reason: "test" };

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

/** Edits that a request can hold and not every file of a session. */
const REQUEST_STAGES: readonly Stage[] = [
  hideEveryOtherCall,
  insertBehindEach,
  sumUpTheBeginning,
  moveTheLastToTheFront,
];

/** Edits of every kind, most of them by the stages that make them. */
export const WIRE_STAGES: readonly Stage[] = [...FORMAT_STAGES, ...REQUEST_STAGES];

/** A result that lost its call is one fault, whatever it is called: it may have been a second or a late one before. */
const PAIRING_RULES = ["common-01", "common-02", "common-03", "common-04", "common-05", "common-06"];

/** The laws as they hold for requests to a provider. */
export const WIRE_CONTRACT: Omit<FormatContract<unknown>, "format" | "wire" | "expectEqual"> = {
  stages: REQUEST_STAGES,
  repair: repairRequest,
  view: contentView,
  repairedRules: REPAIRED_RULES,
  ruleGroup: (rule: string) => (PAIRING_RULES.includes(rule) ? "pairing" : rule),
};
