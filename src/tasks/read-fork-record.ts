import { isProcess } from "./fork-lease.ts";
import type { ForkRecord } from "./fork-record.ts";

/** A stored value as a fork record, or undefined when it is none that this version understands. */
export function readForkRecord(value: unknown): ForkRecord | undefined {
  return isRecord(value) ? (value as ForkRecord) : undefined;
}

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const isText: Check = (value) => typeof value === "string";
const isCount: Check = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const shaped = (shape: Shape): Check => {
  const checks = Object.entries(shape);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const found = value as Readonly<Record<string, unknown>>;
    return checks.every(([key, check]) => check(found[key]));
  };
};
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.some((word) => word === value);

const ATTEMPTS = shaped({ count: isCount, lastAtMs: isCount });
const ERROR = shaped({ kind: isText, message: isText });

const RUN_BASE: Shape = {
  number: isCount,
  queuedAtMs: isCount,
  startedAtMs: optional(isCount),
  prompts: listOf(
    shaped({
      number: isCount,
      kind: oneOf("directive", "continue", "steer", "nudge", "wrap-up"),
      text: isText,
      attempts: optional(ATTEMPTS),
      messageId: optional(isText),
    }),
  ),
  calls: shaped({ total: isCount, streak: isCount, lastHash: optional(isText), recentIds: listOf(isText) }),
  rateLimits: isCount,
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
    shaped({ limit: oneOf("time", "tool-calls", "repeated-call", "fork-cost", "root-cost"), atMs: isCount }),
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
  changedFiles: listOf(isText),
  error: optional(ERROR),
  delivery: shaped({
    state: oneOf("pending", "sent", "seen", "acked"),
    sinceMs: isCount,
    sends: isCount,
    kickedAtMs: optional(isCount),
  }),
});

const isRecord = shaped({
  schema: oneOf("fork/1"),
  id: isText,
  number: isCount,
  rootSessionId: isText,
  parentSessionId: isText,
  childSessionId: optional(isText),
  agent: isText,
  model: shaped({ providerId: isText, modelId: isText, variant: optional(isText) }),
  title: isText,
  inherited: shaped({
    way: oneOf("exact", "graduated", "text"),
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
