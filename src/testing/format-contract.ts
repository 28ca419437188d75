import { repairPairing } from "../stages/repair.ts";
import {
  anything,
  callback,
  check,
  listOf,
  methods,
  required,
  type Shape,
  text,
  throwProblems,
  wholeFrom,
} from "../text/check.ts";
import { isObject } from "../text/unknown-value.ts";
import { outcomeText } from "../transcript/content.ts";
import { applyEdits, type Edit, runStages, type Stage } from "../transcript/edit.ts";
import type { Fault, Format } from "../transcript/format.ts";
import { project, type Transcript } from "../transcript/message.ts";
import { FORMAT_STAGES } from "./format-stages.ts";
import { type ConversationStep, randomConversation } from "./random-conversation.ts";

/** What one law of the format contract says. Throws when the law is broken. */
export interface FormatLaw {
  readonly name: string;
  check(): void;
}

export interface FormatContract<Wire> {
  readonly format: Format<Wire>;
  /** Recorded foreign messages; give these, or `write`, or both. */
  readonly wire?: Wire;
  /** Writes a conversation as the program or the provider does: the laws hold on random ones, and nothing that was said may be missing. */
  readonly write?: (conversation: readonly ConversationStep[]) => Wire;
  /** How many random conversations are written. @default 20 */
  readonly conversations?: number;
  /** Edits to try, made from the transcript, beside those that every format is tried with. @default none */
  readonly stages?: readonly Stage[];
  /** The stage after which no fault may be left. @default repairPairing */
  readonly repair?: Stage;
  /** Says whether two values are the same, as the test framework sees it; throws when not. */
  readonly expectEqual: (actual: unknown, expected: unknown) => void;
  /** What of a transcript the wire can hold; everything when unset. */
  readonly view?: (transcript: Transcript) => unknown;
  /** Rules that are one for the comparison of faults before and after an edit; each is its own when unset. */
  readonly ruleGroup?: (rule: string) => string;
  /** Rules that an edit may break where only the repair can mend them, because a law of its own says that it does. */
  readonly repairedRules?: readonly string[];
}

const CONTRACT_SHAPE: Shape<FormatContract<unknown>> = {
  format: required(methods("decode", "apply", "faults")),
  wire: anything,
  write: callback,
  conversations: wholeFrom(1),
  stages: listOf(callback),
  repair: callback,
  expectEqual: required(callback),
  view: callback,
  ruleGroup: callback,
  repairedRules: listOf(text),
};

/** The laws that every format keeps, as checks on a wire and on random conversations. */
export function formatLaws<Wire>(contract: FormatContract<Wire>): readonly FormatLaw[] {
  throwProblems(check(CONTRACT_SHAPE, contract));
  const { format, wire, write, conversations = 20 } = contract;
  if (wire === undefined && write === undefined)
    throwProblems([
      { path: ["wire"], text: "wire is missing; give recorded messages, or write to make some" },
    ]);
  // A law has one name, whatever it is tried on.
  const checks = new Map<string, FormatLaw["check"][]>();
  const add = (where: string, laws: readonly FormatLaw[]): void => {
    for (const { name, check: holds } of laws)
      checks.set(name, [...(checks.get(name) ?? []), () => failingIn(where, holds)]);
  };
  add("anything", [{ name: "whatever it is given is taken", check: () => takesAnything(format) }]);
  if (wire !== undefined) add("the given wire", lawsOfWire(contract, wire));
  for (let seed = 0; write !== undefined && seed < conversations; seed++) {
    const said = randomConversation(seed);
    add(`conversation ${seed}, ${JSON.stringify(said)}`, lawsOfWire(contract, write(said), said));
  }
  return [...checks].map(([name, all]) => ({
    name,
    check() {
      for (const holds of all) holds();
    },
  }));
}

/** Says on what a law was broken; the cause says how. */
function failingIn(where: string, holds: () => void): void {
  try {
    holds();
  } catch (cause) {
    throw new Error(`broken on ${where}`, { cause });
  }
}

function takesAnything<Wire>(format: Format<Wire>): void {
  for (const junk of [undefined, null, 4, "x", [], {}, [null, 4, [], {}], { messages: 4, lines: [null] }]) {
    const wire = junk as Wire;
    if (!Array.isArray(format.decode(wire)))
      throw new Error(`decode of ${JSON.stringify(junk)} gave no list`);
    format.faults(wire);
  }
}

function lawsOfWire<Wire>(
  contract: FormatContract<Wire>,
  wire: Wire,
  said?: readonly ConversationStep[],
): readonly FormatLaw[] {
  const {
    format,
    repair = repairPairing,
    expectEqual,
    view = everything,
    ruleGroup = (rule) => rule,
  } = contract;
  // A cut may leave an answer in front, and only the repair can put a question before it.
  const { repairedRules = ["first-message-is-user"], stages = [] } = contract;
  const frozen = deepFreeze(wire);
  const at = 1_700_000_000_000;
  const decode = () => format.decode(frozen);
  const decoded = once(decode);
  const faults = once(() => countByRule(format.faults(frozen), ruleGroup));

  const laws: FormatLaw[] = [
    {
      name: "no edits, no change",
      check() {
        if (format.apply(frozen, [], { at }) !== frozen)
          throw new Error("apply without edits gave another reference");
      },
    },
    {
      name: "ids are unique",
      check() {
        const ids = decoded().map((message) => message.id);
        expectEqual(new Set(ids).size, ids.length);
      },
    },
    {
      name: "decoding again gives the same",
      check: () => expectEqual(decode(), decoded()),
    },
    {
      name: "repair leaves no fault",
      check() {
        expectEqual(format.faults(format.apply(frozen, repair(decoded()), { at })), []);
      },
    },
  ];
  if (said !== undefined)
    laws.push(
      {
        name: "everything that was said is read, in order",
        check: () => expectEqual(saidIn(decoded()), said.flatMap(saidBy)),
      },
      {
        name: "an edited text changes no other id",
        check() {
          const edit = rewriteLastText(decoded());
          if (edit === undefined) return;
          const others = decoded().flatMap(({ id }) => (id === edit.messageId ? [] : id));
          const after = format.decode(format.apply(frozen, [edit], { at })).map(({ id }) => id);
          expectEqual(
            after.filter((id) => others.includes(id)),
            others,
          );
        },
      },
      {
        name: "an edit keeps the fields that are not understood",
        check() {
          const marked = deepFreeze(withUnknownFields(frozen));
          const edit = rewriteLastText(format.decode(marked));
          const text = JSON.stringify(format.apply(marked, edit === undefined ? [] : [edit], { at }));
          expectEqual(
            marksIn(JSON.stringify(marked)).filter((mark) => !text.includes(mark)),
            [],
          );
        },
      },
    );
  for (const [index, stage] of [...FORMAT_STAGES, ...stages].entries()) {
    const edits = once((): readonly Edit[] => stage(decoded()));
    const edited = once(() => format.apply(frozen, edits(), { at }));
    laws.push(
      {
        name: `edit then decode is decode then edit (${index + 1})`,
        check() {
          expectEqual(view(format.decode(edited())), view(applyEdits(decoded(), edits(), { at })));
        },
      },
      {
        name: `repair after an edit leaves no fault (${index + 1})`,
        check() {
          const { edits: all } = runStages(decoded(), [stage, repair], { at });
          expectEqual(format.faults(format.apply(frozen, all, { at })), []);
        },
      },
      {
        name: `an edit brings no new fault (${index + 1})`,
        check() {
          const after = countByRule(format.faults(edited()), ruleGroup);
          const isNew = ([rule, count]: readonly [string, number]) =>
            count > (faults().get(rule) ?? 0) && !repairedRules.includes(rule);
          expectEqual([...after].filter(isNew), []);
        },
      },
    );
  }
  return laws;
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The wire with a field in each of its messages, and in the request around them, that no format understands. */
function withUnknownFields<Wire>(wire: Wire): Wire {
  let count = 0;
  const mark = (item: unknown): unknown =>
    isObject(item) ? { ...item, unheardOf: `mark-${++count}-` } : item;
  if (Array.isArray(wire)) return wire.map(mark) as Wire;
  if (!isObject(wire)) return wire;
  const entries = Object.entries(wire).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(mark) : value,
  ]);
  return mark(Object.fromEntries(entries)) as Wire;
}

function marksIn(text: string): readonly string[] {
  return text.match(/mark-\d+-/g) ?? [];
}

function rewriteLastText(transcript: Transcript): (Edit & { readonly messageId: string }) | undefined {
  for (const { id: messageId, role, parts } of transcript.toReversed()) {
    const partIndex = parts.findIndex(
      (part) => part.type === "text" && part.providerBlock === undefined && part.text.trim() !== "",
    );
    const part = parts[partIndex];
    if (part?.type !== "text" || role === "system") continue;
    return {
      type: "replace-part",
      messageId,
      partIndex,
      part: { ...part, text: "other words" },
      stage: "test",
      reason: "test",
    };
  }
  return undefined;
}

function saidBy(step: ConversationStep): readonly string[] {
  if (step.by === "user") return [`user: ${step.text}`];
  return [
    ...(step.text === "" ? [] : [`assistant: ${step.text}`]),
    ...step.calls.map(({ tool, input, output }) => `${tool} ${JSON.stringify(input)}: ${output}`),
  ];
}

function saidIn(transcript: Transcript): readonly string[] {
  return project(transcript).flatMap(({ role, parts }) =>
    parts.flatMap((part) => {
      if (part.type === "text") return role === "system" ? [] : [`${role}: ${part.text}`];
      return part.type === "tool"
        ? [`${part.tool} ${JSON.stringify(part.input)}: ${outcomeText(part.outcome)}`]
        : [];
    }),
  );
}

/**
 * Repeated message ids are numbered on decode, and an edit changes which of them come first: order stands for identity.
 * A mark on a part is about the form of the wire, which an edit may have made regular.
 */
function everything(transcript: Transcript): unknown {
  return project(transcript).map((message, index) => ({
    ...message,
    id: `${index}`,
    parts: message.parts.map(({ irregular: _, ...part }) => part),
  }));
}

function countByRule(
  faults: readonly Fault[],
  ruleGroup: (rule: string) => string,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { rule } of faults) counts.set(ruleGroup(rule), (counts.get(ruleGroup(rule)) ?? 0) + 1);
  return counts;
}

/** The value, frozen all the way down, so that a test fails when anything writes to it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}
