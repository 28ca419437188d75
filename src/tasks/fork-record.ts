import type { ForkRun, LiveRun } from "./fork-run.ts";

export type {
  Attempts,
  CallCounters,
  ChildPrompt,
  Delivery,
  DeliveryWay,
  EndedRun,
  EndState,
  ForkError,
  ForkErrorKind,
  ForkRun,
  LimitName,
  LiveRun,
  PermissionAsk,
  PromptKind,
  Stopping,
  WrapUp,
} from "./fork-run.ts";

/** Everything that is known about one fork, as plain JSON: one record a fork, written only by its owner. */
export interface ForkRecord {
  readonly schema: "fork/1";
  readonly id: string;
  /** Counts from 1 within the root session; what people and models call the fork. */
  readonly number: number;
  /** The session that the child hangs under. */
  readonly rootSessionId: string;
  /** The session that asked and that gets the result. */
  readonly parentSessionId: string;
  readonly childSessionId?: string;
  readonly agent: string;
  readonly model: ForkModel;
  readonly title: string;
  readonly inherited: Inheritance;
  readonly owner: ForkOwner;
  /** What the child session has cost in all its runs. */
  readonly spent: Spending;
  /** Never empty; the newest is last. Only the newest can be live. */
  readonly runs: readonly ForkRun[];
}

/** Which model a child runs on, in the host's words. */
export interface ForkModel {
  readonly providerId: string;
  readonly modelId: string;
  readonly variant?: string;
}

/** What the child got of its parent's conversation, and why in this way. */
export interface Inheritance {
  readonly way: ForkWayName;
  readonly reason: string;
  readonly chars: number;
  readonly messages: number;
  /** The name of the stored view, shared by siblings. */
  readonly snapshotId?: string;
}

export type ForkWayName = "exact" | "graduated" | "text";

/** The program instance that may write a record, named beyond the life of its pid. */
export interface ForkOwner {
  readonly instanceId: string;
  readonly process: OwnerProcess;
  /** The owner's last sign of life that this record knows of. */
  readonly heartbeatAtMs: number;
}

export interface OwnerProcess {
  readonly host: string;
  readonly pid: number;
  /** Empty where the system does not tell; with the pid it survives the reuse of a pid. */
  readonly start: string;
}

/** Totals of the child session; they only grow. */
export interface Spending {
  readonly costUSD: number;
  readonly tokens: number;
  readonly steps: number;
}

/** The newest run. */
export function currentRun(record: ForkRecord): ForkRun {
  const run = record.runs.at(-1);
  if (run === undefined) throw new Error(`Fork ${record.id} has no run; read records with readForkRecord`);
  return run;
}

/** The newest run if its child exists and has a slot: only then can anything be heard of the child. */
export function spokenRun(record: ForkRecord): LiveRun | undefined {
  const run = currentRun(record);
  return isLive(run) && run.state !== "queued" && record.childSessionId !== undefined ? run : undefined;
}

/** True until the run is over. */
export function isLive(run: ForkRun): run is LiveRun {
  return run.state === "queued" || run.state === "starting" || run.state === "running";
}

/** The name of one message of ours to a child, to be stored with it so that it can be found again. */
export function promptKey(
  { id }: ForkRecord,
  prompt: { readonly run: number; readonly number: number },
): string {
  return `${id}.${prompt.run}.${prompt.number}`;
}

/** The name of one result, to be stored with what is delivered so that it can be found again. */
export function deliveryId({ id }: Pick<ForkRecord, "id">, runNumber: number): string {
  return `${id}.${runNumber}`;
}
