import { join } from "node:path";
import { type InstanceLease, readLease } from "../../fork/life/lease.ts";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { processState } from "../../stores/files/process-identity.ts";
import { createFileRecordStore } from "../../stores/files/record-store.ts";
import type { PostgresStores } from "../../stores/postgres/stores.ts";
import { asNumber, asObject, asString } from "../../text/unknown-value.ts";

/** How the command line reaches running plugins: a lease of each plugin that runs, and the requests made of them. */
export interface ControlStore {
  /** One lease for each plugin that runs. */
  readonly instances: RecordStore;
  readonly requests: RecordStore;
  readonly pace: ControlPace;
  /** The shared clock of all who use the store, in milliseconds. */
  now(): number;
}

/** Polling intervals and timeouts. */
interface ControlPace {
  /** Between two polls of a plugin that is working. */
  readonly lookMs: number;
  /** Between two polls of an idle plugin. */
  readonly idleLookMs: number;
  /** Between two polls for the answer. */
  readonly pollMs: number;
  /** How long a plugin has to take a request. */
  readonly answerMs: number;
}

/** In two folders of one home, where polling costs next to nothing. */
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

/** In a database that many machines share, where each poll is a statement, so idle plugins poll rarely. */
export function databaseControlStore(stores: Pick<PostgresStores, "records" | "now">): ControlStore {
  return {
    instances: stores.records(`${PLUGIN_SCOPE}control/instances`),
    requests: stores.records(`${PLUGIN_SCOPE}control/requests`),
    pace: { lookMs: 2_000, idleLookMs: 15_000, pollMs: 500, answerMs: 25_000 },
    now: stores.now,
  };
}

/** The lease of a running plugin, with the root sessions whose logs it writes. */
export interface PluginLease extends InstanceLease {
  readonly logs: readonly string[];
}

/** Between two renewals of a plugin's lease. */
export const LEASE_MS = 60_000;

/** True for a plugin whose process runs here, or that runs on another machine and renewed its lease lately. */
export function isRunning({ process, heartbeatAtMs }: InstanceLease, nowMs: number): boolean {
  const state = processState(process);
  return state === "running" || (state === "unknown" && nowMs - heartbeatAtMs <= 3 * LEASE_MS);
}

/** The plugins that run; undefined where the store cannot be read. */
export async function runningPlugins({
  instances,
  now,
}: Pick<ControlStore, "instances" | "now">): Promise<readonly InstanceLease[] | undefined> {
  const listed = await instances.list();
  if (listed.status === "failed") return undefined;
  const leases = listed.records.flatMap(({ value }) => readLease(value) ?? []);
  return leases.filter((lease) => isRunning(lease, now()));
}

/** The logs that a stored lease names. */
export function logsOf(lease: InstanceLease): readonly string[] {
  const { logs } = asObject(lease);
  return Array.isArray(logs) ? logs.filter((log) => typeof log === "string") : [];
}

/** A request to whichever plugin it concerns. Each change of state changes the record's version, so only one plugin can take it. */
export interface ControlRequest {
  readonly schema: "control/1";
  readonly id: string;
  readonly askedAtMs: number;
  readonly want: ControlWant;
  readonly state: ControlState;
}

export type ControlWant =
  | { readonly type: "cancel-fork" | "open-fork"; readonly forkId: string }
  | { readonly type: "undo"; readonly sessionId: string };

type ControlState =
  | { readonly status: "asked" }
  | { readonly status: "taken" }
  | ({ readonly status: "answered" } & ControlAnswer);

/** The answer to a request. */
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
    ((type === "cancel-fork" || type === "open-fork") && asString(forkId) !== undefined) ||
    (type === "undo" && asString(sessionId) !== undefined);
  const { status, outcome, text } = asObject(state);
  const isState =
    status === "asked" ||
    status === "taken" ||
    (status === "answered" && asString(outcome) !== undefined && asString(text) !== undefined);
  const isRequest = schema === "control/1" && asString(id) !== undefined && isWant && isState;
  return isRequest && asNumber(askedAtMs) !== undefined ? (value as ControlRequest) : undefined;
}
