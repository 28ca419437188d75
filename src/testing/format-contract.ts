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
} from "../text/check.ts";
import { outcomeText } from "../transcript/content.ts";
import { applyEdits, type Edit, runStages, type Stage } from "../transcript/edit.ts";
import type { Fault, Format } from "../transcript/format.ts";
import { project, type Transcript } from "../transcript/message.ts";
import { COMPACTION_QUESTION, type Part } from "../transcript/part.ts";

/** What one law of the format contract says about one wire. Throws when the law is broken. */
export interface FormatLaw {
  readonly name: string;
  check(): void;
}

export interface FormatContract<Wire> {
  readonly format: Format<Wire>;
  readonly wire: Wire;
  /** Edits to try on it, made from its transcript. */
  readonly stages: readonly Stage[];
  /** The stage after which no fault may be left. */
  readonly repair: Stage;
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
  stages: required(listOf(callback)),
  repair: required(callback),
  expectEqual: required(callback),
  view: callback,
  ruleGroup: callback,
  repairedRules: listOf(text),
};

/** The laws that every format keeps, as checks on one wire. */
export function formatLaws<Wire>(contract: FormatContract<Wire>): readonly FormatLaw[] {
  throwProblems(check(CONTRACT_SHAPE, contract));
  const {
    format,
    wire,
    stages,
    repair,
    expectEqual,
    view = everything,
    ruleGroup = (rule) => rule,
  } = contract;
  // A cut may leave an answer in front, and only the repair can put a question before it.
  const { repairedRules = ["first-message-is-user"] } = contract;
  const frozen = deepFreeze(wire);
  const at = 1_700_000_000_000;
  const decode = () => format.decode(frozen);

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
        const ids = decode().map((message) => message.id);
        expectEqual(new Set(ids).size, ids.length);
      },
    },
    {
      name: "repair leaves no fault",
      check() {
        expectEqual(format.faults(format.apply(frozen, repair(decode()), { at })), []);
      },
    },
  ];
  for (const [index, stage] of stages.entries()) {
    const edits = (): readonly Edit[] => stage(decode());
    laws.push(
      {
        name: `edit then decode is decode then edit (${index + 1})`,
        check() {
          const editedWire = format.decode(format.apply(frozen, edits(), { at }));
          expectEqual(view(editedWire), view(applyEdits(decode(), edits(), { at })));
        },
      },
      {
        name: `repair after an edit leaves no fault (${index + 1})`,
        check() {
          const { edits: all } = runStages(decode(), [stage, repair], { at });
          expectEqual(format.faults(format.apply(frozen, all, { at })), []);
        },
      },
      {
        name: `an edit brings no new fault (${index + 1})`,
        check() {
          const before = countByRule(format.faults(frozen), ruleGroup);
          const after = countByRule(format.faults(format.apply(frozen, edits(), { at })), ruleGroup);
          const isNew = ([rule, count]: readonly [string, number]) =>
            count > (before.get(rule) ?? 0) && !repairedRules.includes(rule);
          expectEqual([...after].filter(isNew), []);
        },
      },
    );
  }
  return laws;
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

/**
 * What a provider's wire can say of a transcript: the system text, then roles, texts, calls, results and files. Turns of
 * one role are one turn and calls are told apart by their order. Results without a call come first in their turn, and
 * reasoning is left out, since the provider's own rules decide where the one stands and what stays of the other.
 */
export function contentView(transcript: Transcript): readonly ContentTurn[] {
  const turns: { role: string; parts: PartContent[] }[] = [];
  const shown = project(transcript);
  const systems = shown.filter(({ role }) => role === "system");
  for (const message of [...systems, ...shown.filter(({ role }) => role !== "system")]) {
    const parts = message.parts.flatMap(partContent);
    if (parts.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === message.role) last.parts.push(...parts);
    else turns.push({ role: message.role, parts });
  }
  return turns.map(({ role, parts }) => ({
    role,
    parts: [...parts.filter(isLoose), ...parts.filter((part) => !isLoose(part))],
  }));
}

interface ContentTurn {
  readonly role: string;
  readonly parts: readonly unknown[];
}

interface PartContent {
  readonly callMissing?: true | undefined;
  readonly [field: string]: unknown;
}

function isLoose({ callMissing }: PartContent): boolean {
  return callMissing === true;
}

function partContent(part: Part): readonly PartContent[] {
  switch (part.type) {
    case "text":
      return [{ text: part.text }];
    case "compaction":
      return [{ text: COMPACTION_QUESTION }];
    case "tool": {
      const { tool, input, outcome, callMissing } = part;
      const attachments = outcome.status === "done" ? outcome.attachments : [];
      const result = outcome.status === "pending" ? undefined : outcomeText(outcome);
      return [{ tool, input: input ?? {}, result, attachments, callMissing }];
    }
    case "file":
      return [{ file: part.mime, filename: part.filename }];
    case "opaque":
      return [{ opaque: part.name }];
    case "reasoning":
      return [];
    default:
      return part satisfies never;
  }
}

/** The value, frozen all the way down, so that a test fails when anything writes to it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}
