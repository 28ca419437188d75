import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { processState } from "../../../stores/files/process-identity.ts";
import { readLease } from "../../../tasks/fork-lease.ts";
import {
  type ControlAnswer,
  type ControlRequest,
  type ControlStore,
  type ControlWant,
  readControlRequest,
} from "./control-store.ts";

/** Asks the running plugins for something, and gives the answer of the one that it concerns. */
export async function askPlugin({
  control,
  want,
  answerMs = ANSWER_MS,
}: AskPluginRequest): Promise<AskedPlugin> {
  if (!(await isAnyRunning(control))) return { status: "none-runs" };
  const request: ControlRequest = {
    schema: "control/1",
    id: randomUUID(),
    askedAtMs: Date.now(),
    want,
    state: { status: "asked" },
  };
  const stored = await control.requests.put({ id: request.id, value: request, expected: "missing" });
  if (stored.status !== "stored") return { status: "failed", reason: reasonOf(stored) };
  const giveUpAtMs = Date.now() + answerMs;
  for (let wasTaken = false; ; ) {
    await sleep(POLL_MS);
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

export interface AskPluginRequest {
  readonly control: ControlStore;
  readonly want: ControlWant;
  /** How long somebody has to take it; unset means long enough for a busy machine. */
  readonly answerMs?: number;
}

export type AskedPlugin =
  | ({ readonly status: "answered" } & ControlAnswer)
  | { readonly status: "none-runs" }
  /** Plugins run, and none of them has to do with it. */
  | { readonly status: "nobody-concerned" }
  | { readonly status: "failed"; readonly reason: string };

/** A plugin looks every second; a machine may be busy. */
const ANSWER_MS = 6_000;
const TAKEN_MS = 20_000;
const POLL_MS = 100;

async function isAnyRunning({ instances }: ControlStore): Promise<boolean> {
  const listed = await instances.list();
  if (listed.status === "failed") return false;
  return listed.records.some(({ value }) => {
    const lease = readLease(value);
    return lease !== undefined && processState(lease.process) !== "gone";
  });
}

function reasonOf(stored: { readonly status: string; readonly reason?: string }): string {
  return stored.reason ?? stored.status;
}
