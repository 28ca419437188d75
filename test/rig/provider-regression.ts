import { expect } from "vitest";
import { dropMedia, summarizeOlder } from "../../src/compaction/recover.ts";
import { pruneStage } from "../../src/stages/prune.ts";
import { repairPairing } from "../../src/stages/repair.ts";
import { runStages, type Stage } from "../../src/transcript/edit.ts";
import type { Format } from "../../src/transcript/format.ts";
import { deepFreeze } from "./notation.ts";

/** A breakage that somebody reported: what they sent, what it became there, and the edit of ours that does the same job. */
export interface Regression {
  /** The report, and in a few words what happened. */
  readonly name: string;
  /** The rule that the wire broke there. */
  readonly rule: string;
  readonly wire: unknown;
  /** The wire as it was refused. */
  readonly broken: unknown;
  /** What we do to the wire before it is repaired and sent; nothing when it came broken. */
  readonly stages?: readonly Stage[];
  /** What the wire that we send must be, beyond having no fault. */
  readonly expectSent?: (sent: string, after: unknown) => void;
}

/** Checks that the wire was rightly refused there, and that ours has no fault after the same edit; not before repair if the wire had none. */
export function expectNoRegression(format: Format<never>, given: Regression): void {
  const { rule, wire, broken, stages = [], expectSent } = given;
  const known = format as Format<unknown>;
  expect(known.faults(broken).map((fault) => fault.rule)).toContain(rule);
  const frozen = deepFreeze(wire);
  const at = 1_700_000_000_000;
  const run = runStages(known.decode(frozen), stages, { at });
  if (known.faults(frozen).length === 0) {
    const after = known.faults(known.apply(frozen, run.edits, { at }));
    expect(after.filter((fault) => !ENDS.includes(fault.rule))).toEqual([]);
  }
  const edits = [...run.edits, ...repairPairing(run.transcript, { lastMessage: "user" })];
  const sent = known.apply(frozen, edits, { at });
  expect(known.faults(sent)).toEqual([]);
  expectSent?.(JSON.stringify(sent), sent);
}

/** Only the repair may speak for the user, at either end. */
const ENDS: readonly string[] = ["common-08", "common-09", "anthropic-26", "gemini-41", "gemini-42"];

/** Sums up everything but the newest step, as a compaction does. */
export const fold: Stage = (transcript) => summarizeOlder(transcript, { limitTokens: 4_000 });

/** The same, with the summary in a message of the user's. */
export const foldForUser: Stage = (transcript) =>
  summarizeOlder(transcript, { limitTokens: 4_000, representation: "user-summary" });

/** Clears every output before the newest turn. */
export const pruneAll: Stage = pruneStage({ protectTokens: 0, minimumTokens: 0, protectTurns: 1 });

/** Leaves out all images. */
export const dropImages: Stage = (transcript) => dropMedia(transcript, "all");

/** Hides the messages at these places. */
export function hide(...indexes: readonly number[]): Stage {
  return (transcript) =>
    transcript
      .filter((_, index) => indexes.includes(index))
      .map((message) => ({ type: "hide-message", messageId: message.id, stage: "test", reason: "test" }));
}

/** Hides one part. */
export function hidePart(index: number, partIndex: number): Stage {
  return (transcript) => [
    {
      type: "hide-part",
      what: "part",
      messageId: transcript[index]?.id ?? "",
      partIndex,
      stage: "test",
      reason: "test",
    },
  ];
}

/** Inserts a notice in the user's name behind the message at this place. */
export function notice(index: number, text = "[notice]"): Stage {
  return (transcript) => [
    {
      type: "insert-message",
      message: { id: "notice", role: "user", parts: [{ type: "text", text, synthetic: true }] },
      after: transcript[index]?.id ?? null,
      stage: "test",
      reason: "test",
    },
  ];
}
