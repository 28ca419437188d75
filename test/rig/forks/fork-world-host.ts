import { nextToStart } from "../../../src/fork/life/admit.ts";
import { advanceFork } from "../../../src/fork/life/advance.ts";
import { checkChild } from "../../../src/fork/life/check-child.ts";
import type { ChildFinding, ForkAction, ForkEvent } from "../../../src/fork/life/events.ts";
import { deliveryIdsIn, resultNotice } from "../../../src/fork/life/notice.ts";
import { type DeliveryMoment, type EndedFork, planDelivery } from "../../../src/fork/life/plan-delivery.ts";
import { forkMetadata } from "../../../src/fork/life/rebuild-record.ts";
import { deliveryId, type ForkRecord, isLive } from "../../../src/fork/life/record.ts";
import { readForkRecord } from "../../../src/fork/life/stored-record.ts";
import {
  ANSWER,
  emit,
  type FakeChild,
  type FakeParent,
  type ForkWorld,
  type Happening,
  killProgram,
  newId,
  note,
  type Program,
  readRecords,
  say,
  strikes,
} from "./fork-world.ts";

/** Applies one event as a host does: read, advance, store against all other writers, then act. Gives the record if this event changed it. */
export async function takeEvent(
  world: ForkWorld,
  program: Program,
  { forkId, event }: Program["inbox"][number],
): Promise<ForkRecord | undefined> {
  const { instanceId } = program;
  const timed = { ...event, atMs: world.nowMs } as ForkEvent;
  while (program.status === "running") {
    const found = await world.store.get(forkId);
    const before = found.status === "found" ? readForkRecord(found.value) : undefined;
    if (found.status !== "found" || before === undefined) return undefined;
    const mayWrite = event.type === "adopted" || before.owner.instanceId === instanceId;
    const { record, actions } = mayWrite
      ? advanceFork(before, timed, world.limits)
      : { record: before, actions: [] };
    if (record.owner.instanceId !== instanceId) {
      note(world, "fenced off");
      return undefined;
    }
    if (record !== before) {
      const stored = await world.store.put({ id: forkId, value: record, expected: found.version });
      if (stored.status === "conflict") continue;
      if (stored.status === "failed") return undefined;
    }
    await performAll(world, program, { record, actions });
    return record === before ? undefined : record;
  }
  return undefined;
}

/** Performs actions in order, unless they get lost or the program dies over them. */
export async function performAll(
  world: ForkWorld,
  program: Program,
  { record, actions }: { readonly record: ForkRecord; readonly actions: readonly ForkAction[] },
): Promise<void> {
  for (const action of actions) {
    if (strikes(world, 2, "killed before an action")) killProgram(world, program);
    if (program.status !== "running") return;
    if (!strikes(world, 8, "action lost")) await perform({ world, program, record }, action);
  }
}

/** Gives free slots to forks that wait. */
export async function fillSlots(world: ForkWorld, program: Program): Promise<void> {
  const { instanceId } = program;
  const view = { records: await readRecords(world), instanceId, limits: world.limits };
  for (const { id } of nextToStart(view, world.nowMs)) {
    await takeEvent(world, program, { forkId: id, event: { type: "slot-given" } });
  }
}

/** Looks for results, and sends what is to be sent, as `planDelivery` says. */
export async function deliver(
  world: ForkWorld,
  program: Program,
  { parent, moment }: { readonly parent: FakeParent | undefined; readonly moment: DeliveryMoment },
): Promise<void> {
  if (parent === undefined || parent.state.status === "deleted" || program.status !== "running") return;
  const { instanceId } = program;
  const { nowMs } = world;
  const tell = ({ record, run }: EndedFork, event: Happening) =>
    takeEvent(world, program, { forkId: record.id, event: { ...event, run: run.number } as Happening });
  const plan = planDelivery({
    records: await readRecords(world),
    instanceId,
    parentSessionId: parent.id,
    parent: parent.state,
    moment,
    nowMs,
  });
  for (const result of plan.look) await tell(result, { type: lookAt(parent, result), run: 0 });
  for (const result of plan.remind) {
    if (lookAt(parent, result) === "delivery-answered") continue;
    note(world, "reminded");
    await tell(result, { type: "delivery-reminded", run: 0 });
  }
  for (const result of plan.giveUp) {
    if (lookAt(parent, result) === "delivery-answered") continue;
    note(world, "left for the user");
    await tell(result, { type: "delivery-unanswered", run: 0 });
  }
  if (plan.send === undefined) return;
  const ready: EndedFork[] = [];
  for (const result of plan.send.results) {
    const marked = await tell(result, { type: "delivery-sent", run: 0, way: plan.send.way });
    if (marked !== undefined) ready.push(result);
  }
  await sendResults(world, program, { parent, ready, way: plan.send.way });
}

/** A tool of the parent reads the newest result of a fork. */
export async function readResult(world: ForkWorld, program: Program, record: ForkRecord): Promise<void> {
  const parent = world.parents.find(({ id }) => id === record.parentSessionId);
  const run = record.runs.findLast((each) => !isLive(each));
  if (run === undefined || isLive(run) || parent === undefined || parent.state.status === "deleted") return;
  const event = { type: "delivery-sent", run: run.number, way: "read" } as const;
  const marked = await takeEvent(world, program, { forkId: record.id, event });
  const isFirst = marked?.runs.some(
    (each) => each.number === run.number && !isLive(each) && each.delivery.state === "sent",
  );
  if (isFirst === true) await sendResults(world, program, { parent, ready: [{ record, run }], way: "read" });
}

async function sendResults(
  world: ForkWorld,
  program: Program,
  { parent, ready, way }: { parent: FakeParent; ready: readonly EndedFork[]; way: string },
): Promise<void> {
  if (strikes(world, 8, "killed before sending")) killProgram(world, program);
  if (program.status !== "running" || ready.length === 0) return;
  if (strikes(world, 8, "sending failed")) return;
  parent.told.push(resultNotice(ready));
  note(world, `sent by ${way}`);
  if (way === "prompt" && world.random(2) === 0) parent.told.push(ANSWER);
  if (strikes(world, 8, "killed after sending")) killProgram(world, program);
}

function lookAt(parent: FakeParent, { record, run }: EndedFork) {
  const id = deliveryId(record, run.number);
  const index = parent.told.findIndex((text) => deliveryIdsIn(text).includes(id));
  if (index === -1) return "delivery-absent" as const;
  return parent.told.lastIndexOf(ANSWER) > index
    ? ("delivery-answered" as const)
    : ("delivery-seen" as const);
}

interface Scene {
  readonly world: ForkWorld;
  readonly program: Program;
  readonly record: ForkRecord;
}

async function perform(scene: Scene, action: ForkAction): Promise<void> {
  const { world, program, record } = scene;
  const answer = (...events: readonly Happening[]) =>
    emit(world, { instanceId: program.instanceId, forkId: record.id }, ...events);
  const child = world.children.find(({ id }) => id === record.childSessionId);
  const isBusy = child?.loop?.instanceId === program.instanceId;
  switch (action.type) {
    case "create-child":
      answer(createChild(scene, action));
      return;
    case "send-prompt":
      if (child !== undefined) answer(promptChild(scene, { child, action }));
      return;
    case "look-at-status":
      answer({ type: "status", status: isBusy ? "busy" : "idle" });
      return;
    case "check-child":
      answer({ type: "child-checked", run: action.run, finding: look(action, child, isBusy) });
      return;
    case "abort-child":
      if (child !== undefined && isBusy) {
        child.loop = undefined;
        say(world, child, { error: { name: "MessageAbortedError", text: "" }, text: "last words" });
        answer({ type: "child-failed", error: { kind: "aborted", message: "" } });
        answer({ type: "status", status: "idle" }, { type: "status", status: "idle" });
      }
      answer({ type: "child-stopped", run: action.run, text: "last words", changedFiles: [] });
      return;
    case "reject-permission":
      answer({ type: "permission-answered", askId: action.askId });
      return;
    case "fill-slots":
      if (action.notBeforeMs === undefined) await fillSlots(world, program);
      return;
    case "plan-delivery": {
      const parent = world.parents.find(({ id }) => id === action.parentSessionId);
      await deliver(world, program, { parent, moment: "time" });
      return;
    }
    case "toast":
      return;
    default:
      action satisfies never;
  }
}

function createChild(
  { world, record }: Scene,
  { run, attempt }: Extract<ForkAction, { readonly type: "create-child" }>,
): Happening {
  if (strikes(world, 4, "child refused")) {
    return { type: "child-refused", run, error: { kind: "server", message: "500" } };
  }
  const known = world.children.find(({ metadata }) => attempt > 1 && metadata.id === record.id);
  if (known !== undefined) return { type: "child-created", run, childSessionId: known.id };
  const id = newId(world, "child");
  world.children.push({
    id,
    metadata: forkMetadata(record),
    messages: [],
    keys: new Map(),
    loop: undefined,
    isDeleted: false,
  });
  return { type: "child-created", run, childSessionId: id };
}

function promptChild(
  { world, program, record }: Scene,
  { child, action }: { child: FakeChild; action: Extract<ForkAction, { readonly type: "send-prompt" }> },
): Happening {
  const { run, key, attempt } = action;
  const prompt = action.prompt.number;
  const kind = world.random(2) === 0 ? "server" : "rate_limit";
  if (child.isDeleted || strikes(world, 6, `prompt refused: ${kind}`)) {
    return { type: "prompt-refused", run, prompt, error: { kind, message: kind } };
  }
  const known = attempt > 1 ? child.keys.get(key) : undefined;
  if (known !== undefined) return { type: "prompt-accepted", run, prompt, messageId: known };
  const messageId = say(world, child, { role: "user", text: action.prompt.text });
  child.keys.set(key, messageId);
  child.metadata = forkMetadata(record);
  child.loop ??= { instanceId: program.instanceId, isHung: false };
  return { type: "prompt-accepted", run, prompt, messageId };
}

function look(
  { messageId, key }: Extract<ForkAction, { readonly type: "check-child" }>,
  child: FakeChild | undefined,
  isBusy: boolean,
): ChildFinding {
  if (child === undefined || child.isDeleted) return { type: "missing" };
  const promptMessageId = messageId ?? child.keys.get(key);
  return checkChild({
    messages: child.messages,
    status: isBusy ? "busy" : "idle",
    ...(promptMessageId === undefined ? {} : { promptMessageId }),
  });
}
