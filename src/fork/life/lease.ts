import { asObject } from "../../text/unknown-value.ts";
import type { ForkOwner, ForkRecord, OwnerProcess } from "./record.ts";

/** Between two heartbeats of an instance. */
export const HEARTBEAT_MS = 5_000;

/** Without a heartbeat for so long, an owner whose process is unknown counts as gone. */
const STALE_MS = 30_000;

/** The heartbeat of one program instance: one record for all its forks. */
export interface InstanceLease extends ForkOwner {
  readonly schema: "instance/1";
}

/** The id under which an instance's lease is stored. */
export function leaseRecordId(instanceId: string): string {
  return `instance-${instanceId}`;
}

/** The lease to store, every `HEARTBEAT_MS`. */
export function createLease(owner: Omit<ForkOwner, "heartbeatAtMs">, atMs: number): InstanceLease {
  return { schema: "instance/1", ...owner, heartbeatAtMs: atMs };
}

/** What is known about an owner's process; `running` only if pid and start time both match. */
export type ProcessState = "running" | "gone" | "unknown";

/** Whether an owner still holds its forks; a running process does, however old its heartbeat. */
export function leaseState(owner: ForkOwner, seen: OwnerObservation): "held" | "lost" {
  if (seen.process === "running") return "held";
  if (seen.process === "gone") return "lost";
  const heartbeatAtMs = Math.max(owner.heartbeatAtMs, seen.lease?.heartbeatAtMs ?? 0);
  return (seen.ageMs ?? seen.nowMs - heartbeatAtMs) > STALE_MS ? "lost" : "held";
}

interface OwnerObservation {
  readonly nowMs: number;
  readonly process: ProcessState;
  /** The owner's stored lease, if there is one. */
  readonly lease?: InstanceLease;
  /** How long ago the owner stored something, by the clock of a store that has one: no heartbeat dated ahead deceives it. */
  readonly ageMs?: number;
}

/** True for a fork whose owner is gone; the version of the record decides which of several instances gets it. */
export function canAdopt(
  { owner }: ForkRecord,
  seen: OwnerObservation & { readonly instanceId: string },
): boolean {
  return owner.instanceId !== seen.instanceId && leaseState(owner, seen) === "lost";
}

/** A stored lease, or undefined for anything else. */
export function readLease(value: unknown): InstanceLease | undefined {
  const { schema, instanceId, heartbeatAtMs, process } = asObject(value);
  const isNamed = schema === "instance/1" && typeof instanceId === "string";
  const isLease = isNamed && typeof heartbeatAtMs === "number" && isProcess(process);
  return isLease ? (value as InstanceLease) : undefined;
}

/** True for a value that names a process. */
export function isProcess(value: unknown): value is OwnerProcess {
  const { host, pid, start } = asObject(value);
  return typeof host === "string" && typeof pid === "number" && typeof start === "string";
}
