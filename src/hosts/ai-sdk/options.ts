import { type ConversationOptions, findOptionProblems } from "../../middleware/options.ts";
import { type SummarizerOption, summarizerRule } from "../../middleware/summarizer.ts";
import type { Journal } from "../../session/journal.ts";
import type { SessionOptions } from "../../session/options.ts";
import { findTwoJournals, PERSIST_RULE, type Persistence } from "../../session/persist.ts";
import {
  callback,
  check,
  gone,
  methods,
  type Problem,
  type Rule,
  rule,
  type Shape,
  show,
  throwProblems,
} from "../../text/check.ts";
import { asObject, isObject, omitUndefined } from "../../text/unknown-value.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import type { CompactedConversation } from "./hand-over.ts";

/** How a conversation is kept within its model's window; everything has a default. */
export interface CarryoverOptions extends ConversationOptions {
  /**
   * The name of the tool that recalls, for notices; where the model is wrapped the request says it.
   * @default as the request says, else none
   * @when you use `prepareStep` alone, which sees no tools
   */
  readonly recallTool?: SessionOptions["recallTool"];
  /**
   * Who writes summaries: another model of the AI SDK, by object or by name, code of your own, or
   * `{ model, system, instructions, way }` with what it is told, and how.
   * @default the model itself
   * @from document 003
   * @when a cheaper model writes summaries
   */
  readonly summarizer?: SummarizerOption;
  /**
   * Where long outputs and the record of what was done are kept; without it, in your messages and in `onCompact`.
   * @default none
   * @when cut outputs shall be recalled, or a restart goes on
   */
  readonly store?: CarryoverStore;
  /**
   * What `session.toJSON()` gave when these messages were last used.
   * @default nothing
   * @when a conversation is loaded again
   */
  readonly restore?: unknown;
  /**
   * Keeps the state as a list of small values: `load` gives all of them, `append` keeps one more. What hangs holds up
   * one request in all, for `timeoutMs` (2,000), and makes none fail.
   * @default none
   * @when you store conversations in a database
   */
  readonly persist?: Persistence;
  /**
   * Called with what to persist whenever the window was edited; awaited before the request is sent; one that hangs
   * holds up one request in all, for 2 seconds.
   * @default none
   * @when you store conversations
   */
  readonly onCompact?: (changed: CompactedConversation) => void | Promise<void>;
}

/** Stores of a conversation, in memory, as files or in a database. */
export interface CarryoverStore {
  /** Keeps the whole text of outputs that are too long. @default none */
  readonly outputs?: OutputStore;
  /** Keeps every edit, so that a restart goes on where it was. @default none */
  readonly journal?: Journal;
}

/** Throws one error that lists every problem of the options, behind those that were found before. */
export function checkOptions(options: unknown, others: readonly Problem[]): void {
  throwProblems([...others, ...findOptionProblems(options, CARRYOVER_SHAPE), ...findTwoJournals(options)]);
}

/** What a language model must be. */
export const languageModel: Rule = {
  expects: 'a language model of the AI SDK, such as openai("...") gives, or its name ("provider/model")',
  find(value, path) {
    if (typeof value === "string" && value.trim() !== "") return [];
    const missing = ["doGenerate", "doStream"].filter((name) => methods(name).find(value, []).length > 0);
    if (missing.length === 0) return [];
    const name = path.join(".");
    const what = missing.length === 2 ? `is ${show(value)}` : `has no function ${missing.join()}`;
    return [{ path, text: `${name} ${what}; give ${languageModel.expects}` }];
  },
};

const STORE_SHAPE: Shape<CarryoverStore> = {
  ...gone({ spills: "give outputs" }),
  outputs: methods("put", "get"),
  journal: methods("append", "read"),
};

/** What only the AI SDK takes, or takes in another form. */
const CARRYOVER_SHAPE: Shape<
  Pick<CarryoverOptions, "summarizer" | "store" | "persist" | "restore" | "onCompact">
> = {
  summarizer: summarizerRule(languageModel),
  store: {
    expects: "an object",
    // Stores may have more than is used here.
    find: (value, path) => {
      const { outputs, journal, spills } = asObject(value);
      return check(
        STORE_SHAPE,
        isObject(value) ? { outputs, journal, ...omitUndefined({ spills }) } : value,
        path,
      );
    },
  },
  persist: PERSIST_RULE,
  restore: rule("what session.toJSON() gave, parsed", (value) => value === null || typeof value === "object"),
  onCompact: callback,
};
