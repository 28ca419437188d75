import { isObject } from "../../text/unknown-value.ts";
import { isProcess } from "./lease.ts";
import type { ForkRecord } from "./record.ts";

/** A stored value as a fork record; undefined when it is not one of this version. */
export function readForkRecord(value: unknown): ForkRecord | undefined {
  return isRecord(value) ? (value as ForkRecord) : undefined;
}

type Check = (value: unknown) => boolean;

type Shape = Readonly<Record<string, Check>>;

const isText: Check = (value) => typeof value === "string";

const isCount: Check = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

function shaped(shape: Shape): Check {
  const checks = Object.entries(shape);
  return (value) => isObject(value) && checks.every(([key, check]) => check(value[key]));
}

function oneOf(...words: readonly string[]): Check {
  return (value) => words.some((word) => word === value);
}

const ATTEMPTS = shaped({ count: isCount, lastAtMs: isCount });

const ERROR = shaped({ kind: isText, message: isText });

export const MODE: Check = oneOf("full", "trimmed", "text");

export const ASKING_CALL: Check = shaped({ messageId: isText, callId: isText });

const RUN_BASE: Shape = {
  number: isCount,
  queuedAtMs: isCount,
  startedAtMs: optional(isCount),
  downMs: optional(isCount),
  prompts: listOf(
    shaped({
      number: isCount,
      kind: oneOf("task", "continue", "steer", "nudge"),
      text: isText,
      attempts: optional(ATTEMPTS),
      messageId: optional(isText),
    }),
  ),
  calls: shaped({ total: isCount, streak: isCount, lastHash: optional(isText), recentIds: listOf(isText) }),
  rateLimits: isCount,
  askedBy: optional(ASKING_CALL),
};

const LIVE_RUN = shaped({
  ...RUN_BASE,
  state: oneOf("queued", "starting", "running"),
  notBeforeMs: optional(isCount),
  creation: optional(ATTEMPTS),
  lastSignAtMs: isCount,
  lastWatchAtMs: isCount,
  asks: listOf(shaped({ askId: isText, askedAtMs: isCount, rejects: optional(ATTEMPTS) })),
  wrapUp: optional(
    shaped({
      limit: oneOf("time", "tool-calls", "repeated-call", "fork-cost", "root-cost", "undone"),
      atMs: isCount,
      askedAfter: optional(isText),
    }),
  ),
  stopping: optional(
    shaped({ as: oneOf("cancelled", "timed-out", "failed"), error: ERROR, aborts: ATTEMPTS }),
  ),
  suspectedError: optional(ERROR),
  adoption: optional(ATTEMPTS),
});

const ENDED_RUN = shaped({
  ...RUN_BASE,
  state: oneOf("completed", "failed", "cancelled", "timed-out", "interrupted"),
  endedAtMs: isCount,
  text: isText,
  textChars: optional(isCount),
  changedFiles: listOf(isText),
  error: optional(ERROR),
  delivery: shaped({
    state: oneOf("pending", "sent", "seen", "acked"),
    sinceMs: isCount,
    sends: isCount,
    remindedAtMs: optional(isCount),
  }),
});

const isRecord = shaped({
  schema: oneOf("fork/1"),
  id: isText,
  number: isCount,
  project: optional(isText),
  rootSessionId: isText,
  parentSessionId: isText,
  childSessionId: optional(isText),
  agent: isText,
  caller: optional(isText),
  model: shaped({ providerId: isText, modelId: isText, variant: optional(isText) }),
  title: isText,
  inherited: shaped({
    mode: MODE,
    reason: isText,
    chars: isCount,
    messages: isCount,
    snapshotId: optional(isText),
  }),
  owner: shaped({ instanceId: isText, process: isProcess, heartbeatAtMs: isCount }),
  spent: shaped({ costUSD: isCount, tokens: isCount, steps: isCount }),
  runs: isRunList,
});

function isRunList(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((run, index) => ENDED_RUN(run) || (index === value.length - 1 && LIVE_RUN(run)));
}
