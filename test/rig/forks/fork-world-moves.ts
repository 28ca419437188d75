import { admitFork, nextForkNumber } from "../../../src/fork/life/admit.ts";
import { createForkRecord } from "../../../src/fork/life/create-fork-record.ts";
import {
  canAdopt,
  createLease,
  leaseRecordId,
  type ProcessState,
  readLease,
} from "../../../src/fork/life/lease.ts";
import type { DeliveryMoment } from "../../../src/fork/life/plan-delivery.ts";
import { rebuildForkRecord } from "../../../src/fork/life/rebuild-record.ts";
import { type ForkOwner, type ForkRecord, isLive, type OwnerProcess } from "../../../src/fork/life/record.ts";
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
  startProgram,
} from "./fork-world.ts";
import { deliver, fillSlots, performAll, readResult, takeEvent } from "./fork-world-host.ts";

/** One thing that happens: what, to whom, and how. */
export type ForkMove = readonly [kind: number, which: number, how: number];

/** The largest numbers of a move. */
export const MOVE_RANGE = { kind: 37, which: 11, how: 14 } as const;

/** Lets one thing happen. */
export async function makeMove(world: ForkWorld, [kind, which, how]: ForkMove): Promise<void> {
  const index = which % 2 === 0 ? 0 : 1;
  const program = world.programs[index];
  world.nowMs += [10, 300, 2_000, 6_000, 35_000][(which + how) % 5] ?? 0;
  if (kind < 3) await startFork(world, program, world.parents[how % 2 === 0 ? 0 : 1]);
  else if (kind < 15) await takeSome(world, program, 1 + (how % 4));
  else if (kind < 21) for (const child of world.children.slice(which % 3)) moveChild(world, child, how);
  else if (kind < 25) await tickProgram(world, program);
  else if (kind < 29) await moveParent(world, world.parents[index], how % 8);
  else if (kind === 29) killProgram(world, program);
  else if (kind < 32) startProgram(world, index);
  else if (kind === 32 && program.status !== "dead") {
    program.status = program.status === "asleep" ? "running" : "asleep";
  } else await askFork(world, program, { kind, how });
}

/** Programs run, children finish, users speak, and soon nothing is lost any more. False if a fork is still open half an hour later. */
export async function settle(world: ForkWorld): Promise<boolean> {
  for (let round = 0; round < UNFAIR_ROUNDS + 60; round++) {
    if (round === UNFAIR_ROUNDS) world.mood = "fair";
    for (const program of world.programs) if (program.status === "asleep") program.status = "running";
    startProgram(world, 0);
    startProgram(world, 1);
    world.nowMs += 31_000;
    // Both at once, so that their reads and writes interleave.
    await Promise.all(
      world.programs.map(async (program) => {
        await tickProgram(world, program);
        await takeSome(world, program, Number.POSITIVE_INFINITY);
      }),
    );
    for (const child of world.children) moveChild(world, child, 10);
    for (const parent of world.parents) {
      await moveParent(world, parent, world.mood === "fair" ? 4 : world.random(8));
      await moveParent(world, parent, world.mood === "fair" ? 7 : world.random(8));
    }
    const isQuiet = world.programs.every(({ inbox }) => inbox.length === 0);
    if (world.mood === "fair" && isQuiet && (await isOver(world))) return true;
  }
  return false;
}

const UNFAIR_ROUNDS = 4;

async function isOver(world: ForkWorld): Promise<boolean> {
  const records = await readRecords(world);
  return records.every(({ parentSessionId, runs }) => {
    const isParentGone = world.parents.some(
      ({ id, state }) => id === parentSessionId && state.status === "deleted",
    );
    return runs.every((run) => !isLive(run) && (run.delivery.state === "acked" || isParentGone));
  });
}

async function startFork(world: ForkWorld, program: Program, parent: FakeParent): Promise<void> {
  if (parent.state.status === "deleted" || program.status !== "running") return;
  const records = await readRecords(world);
  const view = { records, instanceId: program.instanceId, limits: world.limits };
  const admission = admitFork(view, { type: "new", rootSessionId: parent.id, isInsideFork: false });
  note(world, admission.status);
  if (admission.status === "refused") return;
  const record = createForkRecord({
    id: newId(world, "f"),
    number: nextForkNumber(records, parent.id),
    rootSessionId: parent.id,
    parentSessionId: parent.id,
    agent: "build",
    model: { providerId: "p", modelId: "m" },
    title: "task",
    inherited: { mode: "text", reason: "test", chars: 0, messages: 0 },
    owner: ownerOf(world, program),
    task: "do it",
    atMs: world.nowMs,
  });
  await world.store.put({ id: record.id, value: record, expected: "missing" });
  await fillSlots(world, program);
}

/** Takes events in any order while the world is unfair. */
async function takeSome(world: ForkWorld, program: Program, maxEvents: number): Promise<void> {
  for (let taken = 0; taken < maxEvents && program.inbox.length > 0; taken++) {
    if (program.status !== "running") return;
    const index = world.mood === "fair" ? 0 : world.random(program.inbox.length);
    for (const next of program.inbox.splice(index, 1)) await takeEvent(world, program, next);
  }
}

async function tickProgram(world: ForkWorld, program: Program): Promise<void> {
  if (program.status !== "running") return;
  const { instanceId, process } = program;
  const id = leaseRecordId(instanceId);
  const old = await world.store.get(id);
  const expected = old.status === "found" ? old.version : "missing";
  await world.store.put({ id, value: createLease({ instanceId, process }, world.nowMs), expected });
  const records = await readRecords(world);
  for (const record of records) {
    const forkId = record.id;
    if (record.owner.instanceId === instanceId) {
      await takeEvent(world, program, { forkId, event: { type: "tick" } });
    } else if (await isOrphan(world, instanceId, record)) {
      note(world, "adopted");
      await takeEvent(world, program, {
        forkId,
        event: { type: "adopted", owner: ownerOf(world, program), fromInstanceId: record.owner.instanceId },
      });
    }
  }
  await rebuildLost(world, program, records);
  await fillSlots(world, program);
}

async function isOrphan(world: ForkWorld, instanceId: string, record: ForkRecord): Promise<boolean> {
  const found = await world.store.get(leaseRecordId(record.owner.instanceId));
  const lease = found.status === "found" ? readLease(found.value) : undefined;
  const process = processState(world, record.owner.process);
  const seen = { instanceId, nowMs: world.nowMs, process };
  return canAdopt(record, lease === undefined ? seen : { ...seen, lease });
}

function processState(world: ForkWorld, { pid, start }: OwnerProcess): ProcessState {
  const holder = world.programs.find((each) => each.process.pid === pid && each.status !== "dead");
  if (holder === undefined) return "gone";
  if (start === "") return "unknown";
  return holder.process.start === start ? "running" : "gone";
}

async function rebuildLost(
  world: ForkWorld,
  program: Program,
  records: readonly ForkRecord[],
): Promise<void> {
  for (const child of world.children) {
    const { metadata } = child;
    if (records.some(({ id }) => id === metadata.id) || child.keys.size === 0) continue;
    const step = rebuildForkRecord({
      metadata,
      session: { id: child.id, title: "task", createdAtMs: world.nowMs },
      owner: ownerOf(world, program),
      number: nextForkNumber(records, metadata.root) + world.nextId,
      atMs: world.nowMs,
    });
    const stored = await world.store.put({ id: metadata.id, value: step.record, expected: "missing" });
    if (stored.status !== "stored") continue;
    note(world, "rebuilt");
    await performAll(world, program, step);
  }
}

function moveChild(world: ForkWorld, child: FakeChild, how: number): void {
  const { loop } = child;
  if (loop === undefined || loop.isHung) return;
  const tell = (...events: readonly Happening[]) =>
    emit(world, { instanceId: loop.instanceId, forkId: child.metadata.id }, ...events);
  if (how < 2) {
    say(world, child, { finish: "tool-calls", text: "looking" });
    tell(
      { type: "tool-called", callId: newId(world, "call"), hash: `h${how}` },
      { type: "status", status: how === 0 ? "retry" : "busy" },
    );
  } else if (how === 2) tell({ type: "permission-asked", askId: `a${world.nowMs}` });
  else if (how === 3) loop.isHung = true;
  else {
    child.loop = undefined;
    if (how === 4) child.isDeleted = true;
    if (how === 5) say(world, child, { finish: "stop" });
    const kind = how === 6 ? "rate_limit" : "server";
    if (how === 6 || how === 7) say(world, child, { error: { name: kind, text: "no" }, text: "so far" });
    if (how > 8) say(world, child, { finish: "stop", text: `report ${world.nowMs}` });
    if (how === 4) tell({ type: "child-deleted" });
    if (how >= 6 && how <= 8) tell({ type: "child-failed", error: { kind, message: "no" } });
    tell({ type: "status", status: "idle" });
  }
}

async function moveParent(world: ForkWorld, parent: FakeParent, how: number): Promise<void> {
  if (parent.state.status === "deleted") return;
  const speak = async (moment: DeliveryMoment) => {
    for (const program of world.programs) await deliver(world, program, { parent, moment });
  };
  if (how === 0) parent.state = { status: "busy", sinceMs: world.nowMs };
  else if (how === 1 || how === 6) {
    parent.state = { status: "busy", sinceMs: world.nowMs };
    await speak("tool-end");
  } else if (how === 2) parent.state = { status: "compacting" };
  else if (how === 3) parent.state = { status: "aborted" };
  else if (how === 4) await speak("user-message");
  else if (how === 5 && world.random(8) === 0) {
    parent.state = { status: "deleted" };
    for (const { id, parentSessionId } of await readRecords(world)) {
      if (parentSessionId !== parent.id) continue;
      for (const program of world.programs) {
        await takeEvent(world, program, { forkId: id, event: { type: "parent-deleted" } });
      }
    }
  } else {
    // A turn may also end without an answer.
    if (how !== 5) parent.told.push(ANSWER);
    parent.state = { status: "idle" };
  }
}

async function askFork(
  world: ForkWorld,
  program: Program,
  { kind, how }: { readonly kind: number; readonly how: number },
): Promise<void> {
  const records = await readRecords(world);
  const record = records[how % Math.max(1, records.length)];
  if (record === undefined || program.status !== "running") return;
  const tell = (event: Happening) => takeEvent(world, program, { forkId: record.id, event });
  if (kind === 33) await tell({ type: "cancel-asked", reason: "not needed" });
  else if (kind === 34) await tell({ type: "resume-asked", task: "more", requestId: `r${how}` });
  else if (kind === 35) await tell({ type: "owner-leaving" });
  else if (kind === 36) await readResult(world, program, record);
  else if (how < 4) await loseRecord(world, record);
}

/** Damage: the record is gone, and only the child's metadata tells of it. */
async function loseRecord(world: ForkWorld, { id }: ForkRecord): Promise<void> {
  const isKnownToChild = world.children.some(({ metadata, keys }) => metadata.id === id && keys.size > 0);
  const found = await world.store.get(id);
  if (!isKnownToChild || found.status !== "found") return;
  await world.store.delete(id, found.version);
  note(world, "record lost");
}

function ownerOf(world: ForkWorld, { instanceId, process }: Program): ForkOwner {
  return { instanceId, process, heartbeatAtMs: world.nowMs };
}
