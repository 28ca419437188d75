import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ControlAnswer,
  type ControlRequest,
  type ControlStore,
  type ControlWant,
  readControlRequest,
  runningPlugins,
} from "./control-store.ts";

/** Makes a request of the running plugins and waits for the answer of the one that it concerns. */
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
    // Withdrawn only if no plugin has taken it meanwhile.
    const withdrawn = await control.requests.delete(request.id, stored.version);
    if (withdrawn.status === "deleted") return { status: "nobody-concerned" };
    wasTaken = true;
  }
}

interface AskPluginRequest {
  readonly control: ControlStore;
  readonly want: ControlWant;
  /** How long a plugin has to take it; unset means long enough for a busy machine. */
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
