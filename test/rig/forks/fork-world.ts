import type { ForkEvent } from "../../../src/fork/life/events.ts";
import type { ForkLimits } from "../../../src/fork/life/limits.ts";
import type { ParentState } from "../../../src/fork/life/plan-delivery.ts";
import type { ForkMetadata } from "../../../src/fork/life/rebuild-record.ts";
import type { ForkRecord, OwnerProcess } from "../../../src/fork/life/record.ts";
import type { RecordStore } from "../../../src/fork/life/record-store.ts";
import { readForkRecord } from "../../../src/fork/life/stored-record.ts";
import { createMemoryRecordStore } from "../../../src/stores/memory/record-store.ts";
import type { Message } from "../../../src/transcript/message.ts";

/** A host in memory for testing the life of forks: two programs over one store, two parents, and chance. */
export interface ForkWorld {
  readonly store: RecordStore;
  readonly limits: ForkLimits;
  readonly random: (below: number) => number;
  /** Whether the system tells when a process started. */
  readonly startTimes: "known" | "unknown";
  readonly programs: [Program, Program];
  readonly parents: readonly [FakeParent, FakeParent];
  readonly children: FakeChild[];
  /** How often what happened. */
  readonly seen: Map<string, number>;
  nowMs: number;
  /** In a fair world nothing is lost, repeated or killed. */
  mood: "unfair" | "fair";
  nextId: number;
}

/** One running copy of the host's program. */
export interface Program {
  readonly instanceId: string;
  readonly process: OwnerProcess;
  status: "running" | "asleep" | "dead";
  readonly inbox: { readonly forkId: string; readonly event: Happening }[];
}

/** An event whose time is the moment at which it is taken. */
export type Happening = ForkEvent extends infer E ? (E extends ForkEvent ? Omit<E, "atMs"> : never) : never;

export interface FakeChild {
  readonly id: string;
  metadata: ForkMetadata;
  readonly messages: Message[];
  /** Message ids by prompt key. */
  readonly keys: Map<string, string>;
  /** Who runs it, while somebody does. */
  loop: { readonly instanceId: string; isHung: boolean } | undefined;
  isDeleted: boolean;
}

export interface FakeParent {
  readonly id: string;
  state: ParentState | { readonly status: "deleted" };
  /** Everything it was told, and `ANSWER` wherever it finished one. */
  readonly told: string[];
}

/** Stands where a parent finished an answer. */
export const ANSWER = "answer";

/** A world in which nothing has happened yet. */
export function createForkWorld(options: Pick<ForkWorld, "limits" | "random" | "startTimes">): ForkWorld {
  const world: ForkWorld = {
    ...options,
    store: createMemoryRecordStore(),
    programs: [unborn(), unborn()],
    parents: [createParent("parent0"), createParent("parent1")],
    children: [],
    seen: new Map(),
    nowMs: 1_000_000,
    mood: "unfair",
    nextId: 0,
  };
  startProgram(world, 0);
  startProgram(world, 1);
  return world;
}

/** Starts a program that is dead, perhaps under a pid that was used before. */
export function startProgram(world: ForkWorld, index: 0 | 1): void {
  if (world.programs[index].status !== "dead") return;
  const name = newId(world, "i");
  const pid = 100 + index * 10 + world.random(2);
  const start = world.startTimes === "known" ? name : "";
  const process = { host: "here", pid, start };
  world.programs[index] = { instanceId: name, process, status: "running", inbox: [] };
}

/** Kills a program, and with it every child that it runs. */
export function killProgram(world: ForkWorld, program: Program): void {
  if (program.status === "dead") return;
  note(world, "killed");
  program.status = "dead";
  for (const child of world.children) {
    if (child.loop?.instanceId !== program.instanceId) continue;
    child.loop = undefined;
    say(world, child, { unfinished: true, text: "half a sen" });
  }
}

/** Adds a message to a child and gives its id. */
export function say(
  world: ForkWorld,
  child: FakeChild,
  { text = "", ...message }: Partial<Message> & { readonly text?: string },
): string {
  const id = newId(world, "m");
  const parts = text === "" ? [] : [{ type: "text", text } as const];
  child.messages.push({ id, role: "assistant", parts, ...message });
  return id;
}

/** Puts events into a program's inbox; in an unfair world some get lost and some come twice. */
export function emit(world: ForkWorld, to: EventAddress, ...events: readonly Happening[]): void {
  const program = world.programs.find(({ instanceId }) => instanceId === to.instanceId);
  for (const event of events) {
    if (strikes(world, 8, "event lost")) continue;
    program?.inbox.push({ forkId: to.forkId, event });
    if (strikes(world, 10, "event repeated")) program?.inbox.push({ forkId: to.forkId, event });
  }
}

export interface EventAddress {
  readonly instanceId: string;
  readonly forkId: string;
}

/** True with some chance in an unfair world; counted. */
export function strikes(world: ForkWorld, percent: number, what: string): boolean {
  const happens = world.mood === "unfair" && world.random(100) < percent;
  if (happens) note(world, what);
  return happens;
}

/** Counts something that happened. */
export function note(world: ForkWorld, what: string): void {
  world.seen.set(what, (world.seen.get(what) ?? 0) + 1);
}

/** All fork records of the store. */
export async function readRecords(world: ForkWorld): Promise<readonly ForkRecord[]> {
  const listed = await world.store.list();
  if (listed.status !== "listed") throw new Error(`The store answered ${listed.status}`);
  return listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
}

/** A name that was not used before. */
export function newId(world: ForkWorld, prefix: string): string {
  world.nextId += 1;
  return `${prefix}${world.nextId}`;
}

function createParent(id: string): FakeParent {
  return { id, state: { status: "idle" }, told: [] };
}

function unborn(): Program {
  return { instanceId: "", process: { host: "", pid: 0, start: "" }, status: "dead", inbox: [] };
}
