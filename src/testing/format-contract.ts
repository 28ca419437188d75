import { applyEdits, type Edit, runStages, type Stage } from "../transcript/edit.ts";
import type { Fault, Format } from "../transcript/format.ts";
import { project, type Transcript } from "../transcript/message.ts";
import { deepFreeze } from "./notation.ts";

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

/** The laws that every format keeps, as checks on one wire. */
export function formatLaws<Wire>({
  format,
  wire,
  stages,
  repair,
  expectEqual,
  view = everything,
  ruleGroup = (rule) => rule,
  // A cut may leave an answer in front, and only the repair can put a question before it.
  repairedRules = ["first-message-is-user"],
}: FormatContract<Wire>): readonly FormatLaw[] {
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

/** Repeated ids are numbered on decode, and an edit changes which of them come first: order stands for identity. */
function everything(transcript: Transcript): unknown {
  return project(transcript).map((message, index) => ({ ...message, id: `${index}` }));
}

function countByRule(
  faults: readonly Fault[],
  ruleGroup: (rule: string) => string,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { rule } of faults) counts.set(ruleGroup(rule), (counts.get(ruleGroup(rule)) ?? 0) + 1);
  return counts;
}
