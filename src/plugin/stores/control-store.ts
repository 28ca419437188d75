import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type InstanceLease, readLease } from "../../fork/life/lease.ts";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { processState } from "../../stores/files/lock.ts";
import { createFileRecordStore } from "../../stores/files/record-store.ts";
import type { PostgresStores } from "../../stores/postgres/stores.ts";
import { asNumber, asObject, asString } from "../../text/json.ts";

/** Where a person's wishes reach a running plugin: records of those who run, and of what is asked of them. */
export interface ControlStore {
  /** One lease for each plugin that runs. */
  readonly instances: RecordStore;
  readonly requests: RecordStore;
  readonly pace: ControlPace;
  /** The time that all who use it share, in milliseconds. */
  now(): number;
}

/** How often is looked, and how long is waited. */
interface ControlPace {
  /** Between two looks of a plugin that works. */
  readonly lookMs: number;
  /** Between two looks of one that has nothing to do. */
  readonly idleLookMs: number;
  /** Between two looks of the one who asked. */
  readonly pollMs: number;
  /** How long somebody has to take a request. */
  readonly answerMs: number;
}

/** In two folders of one home: looking costs next to nothing. */
export function fileControlStore(root: string): ControlStore {
  return {
    instances: createFileRecordStore({ root: join(root, "instances"), durable: false }),
    requests: createFileRecordStore({ root: join(root, "requests"), durable: false }),
    pace: { lookMs: 1_000, idleLookMs: 1_000, pollMs: 100, answerMs: 6_000 },
    now: Date.now,
  };
}

/** The part of a database that plugins use. */
export const PLUGIN_SCOPE = "plugin/";

/** In a database that many machines share: each look is a statement, so those who rest look rarely. */
export function databaseControlStore(stores: Pick<PostgresStores, "records" | "now">): ControlStore {
  return {
    instances: stores.records(`${PLUGIN_SCOPE}control/instances`),
    requests: stores.records(`${PLUGIN_SCOPE}control/requests`),
    pace: { lookMs: 2_000, idleLookMs: 15_000, pollMs: 500, answerMs: 25_000 },
    now: stores.now,
  };
}

/** The sign of life of a plugin, with the root sessions whose logs it writes. */
export interface PluginLease extends InstanceLease {
  readonly logs: readonly string[];
}

/** Between two signs of life that a plugin leaves here. */
export const LEASE_MS = 60_000;

/** True for a plugin that is known to run, or that runs elsewhere and has lately said so. */
export function isRunning({ process, heartbeatAtMs }: InstanceLease, nowMs: number): boolean {
  const state = processState(process);
  return state === "running" || (state === "unknown" && nowMs - heartbeatAtMs <= 3 * LEASE_MS);
}

/** The plugins that run, or undefined where the store cannot say. */
export async function runningPlugins({
  instances,
  now,
}: Pick<ControlStore, "instances" | "now">): Promise<readonly InstanceLease[] | undefined> {
  const listed = await instances.list();
  if (listed.status === "failed") return undefined;
  const leases = listed.records.flatMap(({ value }) => readLease(value) ?? []);
  return leases.filter((lease) => isRunning(lease, now()));
}

/** The logs that a stored sign of life names. */
export function logsOf(lease: InstanceLease): readonly string[] {
  const { logs } = asObject(lease);
  return Array.isArray(logs) ? logs.filter((log) => typeof log === "string") : [];
}

/** Something asked of whichever plugin it concerns. A change of its state is a change of the record's version, so only one takes it. */
export interface ControlRequest {
  readonly schema: "control/1";
  readonly id: string;
  readonly askedAtMs: number;
  readonly want: ControlWant;
  readonly state: ControlState;
}

export type ControlWant =
  | { readonly type: "cancel-fork"; readonly forkId: string }
  | { readonly type: "undo"; readonly sessionId: string };

type ControlState =
  | { readonly status: "asked" }
  | { readonly status: "taken" }
  | ({ readonly status: "answered" } & ControlAnswer);

/** What came of a request. */
export interface ControlAnswer {
  readonly outcome: "done" | "nothing" | "failed";
  /** For a person to read. */
  readonly text: string;
}

/** The request in a stored value, or undefined for anything else. */
export function readControlRequest(value: unknown): ControlRequest | undefined {
  const { schema, id, askedAtMs, want, state } = asObject(value);
  const { type, forkId, sessionId } = asObject(want);
  const isWant =
    (type === "cancel-fork" && asString(forkId) !== undefined) ||
    (type === "undo" && asString(sessionId) !== undefined);
  const { status, outcome, text } = asObject(state);
  const isState =
    status === "asked" ||
    status === "taken" ||
    (status === "answered" && asString(outcome) !== undefined && asString(text) !== undefined);
  const isRequest = schema === "control/1" && asString(id) !== undefined && isWant && isState;
  return isRequest && asNumber(askedAtMs) !== undefined ? (value as ControlRequest) : undefined;
}

/** Asks the running plugins for something, and gives the answer of the one that it concerns. */
export async function askPlugin({
  control,
  want,
  answerMs = control.pace.answerMs,
}: AskPluginRequest): Promise<AskedPlugin> {
  const running = await runningPlugins(control);
  if (running === undefined) return { status: "failed", reason: "the store does not say which plugins run" };
  if (running.length === 0) return { status: "none-runs" };
  const request: ControlRequest = {
    schema: "control/1",
    id: randomUUID(),
    askedAtMs: control.now(),
    want,
    state: { status: "asked" },
  };
  const stored = await control.requests.put({ id: request.id, value: request, expected: "missing" });
  if (stored.status !== "stored") return { status: "failed", reason: reasonOf(stored) };
  const giveUpAtMs = Date.now() + answerMs;
  for (let wasTaken = false; ; ) {
    await sleep(control.pace.pollMs);
    const found = await control.requests.get(request.id);
    const state = found.status === "found" ? readControlRequest(found.value)?.state : undefined;
    if (found.status === "found" && state?.status === "answered") {
      await control.requests.delete(request.id, found.version);
      return state;
    }
    wasTaken ||= state?.status === "taken";
    if (Date.now() < giveUpAtMs + (wasTaken ? TAKEN_MS : 0)) continue;
    if (wasTaken) return { status: "failed", reason: "it was begun, and no answer came" };
    // Withdrawn only if nobody has taken it meanwhile.
    const withdrawn = await control.requests.delete(request.id, stored.version);
    if (withdrawn.status === "deleted") return { status: "nobody-concerned" };
    wasTaken = true;
  }
}

interface AskPluginRequest {
  readonly control: ControlStore;
  readonly want: ControlWant;
  /** How long somebody has to take it; unset means long enough for a busy machine. */
  readonly answerMs?: number;
}

type AskedPlugin =
  | ({ readonly status: "answered" } & ControlAnswer)
  | { readonly status: "none-runs" }
  /** Plugins run, and none of them has to do with it. */
  | { readonly status: "nobody-concerned" }
  | { readonly status: "failed"; readonly reason: string };

const TAKEN_MS = 20_000;

function reasonOf(stored: { readonly status: string; readonly reason?: string }): string {
  return stored.reason ?? stored.status;
}
