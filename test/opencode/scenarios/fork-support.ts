import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deliveryIdsIn } from "../../../src/fork/life/notice.ts";
import { asObject } from "../../../src/text/unknown-value.ts";
import { partText } from "../../../src/transcript/content.ts";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import type { ScriptedCall } from "../../rig/model-server/step.ts";
import type { HostRig } from "../harness/host-rig.ts";
import type { Rig } from "../harness/rig.ts";

/** The first request of the first child of a session, once it was made. */
export function firstChildRequest(rig: HostRig, parentSessionId: string): Promise<ModelRequest> {
  return rig.waitFor(() => rig.requests({ parentSessionId })[0], "the child's first request");
}

/** The oldest request of a session that holds this text. */
export function requestWith(rig: HostRig, sessionId: string, text: string): ModelRequest {
  const found = rig.requests({ sessionId }).find((request) => textOf(request).includes(text));
  if (found === undefined) throw new Error(`No request of ${sessionId} holds ${JSON.stringify(text)}`);
  return found;
}

/** The messages of a request as text. */
export function textOf({ body }: ModelRequest): string {
  return JSON.stringify(body.messages ?? body.input);
}

/** The child sessions of a session. */
export async function childrenOf(rig: Rig, sessionId: string): Promise<readonly ChildSession[]> {
  return (await rig.opencode.call("GET", `/session/${sessionId}/children`)) as readonly ChildSession[];
}

export interface ChildSession {
  readonly id: string;
  readonly title: string;
  readonly parentID: string;
  readonly metadata?: { readonly carryover?: Readonly<Record<string, unknown>> };
  readonly permission?: readonly unknown[];
}

/** The delivery ids of all results that stand in a session, once for each time they do. */
export async function deliveriesOf(
  rig: Pick<HostRig, "transcript">,
  sessionId: string,
): Promise<readonly string[]> {
  const messages = await rig.transcript(sessionId);
  return messages.flatMap(({ parts }) => parts.flatMap((part) => deliveryIdsIn(partText(part))));
}

/** Waits until so many results stand in a session and it is idle again; gives their ids. */
export async function waitForDeliveries(
  rig: HostRig,
  sessionId: string,
  count: number,
): Promise<readonly string[]> {
  await rig.waitFor(
    async () => (await deliveriesOf(rig, sessionId)).length >= count,
    `${count} results in ${sessionId}`,
  );
  await rig.waitUntilIdle(sessionId);
  return deliveriesOf(rig, sessionId);
}

/** A command that ends when `letGo` says so: how long anything takes is no matter of the test then. */
export function waitingCommand(name: string): { readonly command: string; readonly description: string } {
  return { command: `until [ -f ${name} ]; do sleep 0.2; done`, description: "Work" };
}

/** The call of such a command. */
export function waiting(rig: HostRig, name: string): ScriptedCall {
  return rig.tools.run(waitingCommand(name).command);
}

export function letGo(rig: HostRig, name: string): void {
  writeFileSync(join(rig.sandbox.project, name), "");
}

/** Waits until so many forks are shown in their conversation to have ended in this state. */
export async function waitForEnds(rig: Rig, count: number, state = "completed"): Promise<void> {
  await rig.waitFor(() => {
    const ended = rig.events.flatMap(({ properties }) => {
      const part = asObject(properties.part);
      const { shown } = asObject(asObject(part.metadata).carryover);
      const { description } = asObject(asObject(part.state).input);
      return typeof shown === "string" && String(description).includes(` · ${state} · `) ? [shown] : [];
    });
    return new Set(ended).size >= count;
  }, `${count} forks that are ${state}`);
}

/** The texts of all toasts so far. */
export function toastsOf(rig: Pick<Rig, "events">): readonly string[] {
  return rig.events
    .filter(({ type }) => type === "tui.toast.show")
    .map(({ properties }) => String(properties.message));
}
