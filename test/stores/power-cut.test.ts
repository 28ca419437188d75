import { describe, expect, it } from "vitest";
import { cleanOutputs } from "../../src/stores/files/clean-outputs.ts";
import type { FileSystem } from "../../src/stores/files/file-system.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore, outputPath } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { createSeededRandom } from "../rig/random-history/history.ts";
import { runs } from "../rig/runs.ts";
import { createPowerCutDisk, type PowerCutDisk } from "./power-cut-disk.ts";

/** Where no folder of ours is yet: those that were just made are the ones that a cut takes away. */
const HOME = "/home/someone";
const STATE = `${HOME}/.local/state/carryover`;
const CUTS = runs(6_000, 900);
const HOUR_MS = 3_600_000;

type Way = (world: World) => Promise<void>;

/** Who works on the disk until the power goes. */
const ways: Readonly<Record<string, Way>> = {
  "one program": (world) => work(world, { name: "one" }),
  "two programs at the same time": async (world) => {
    await Promise.all(["one", "two"].map((name) => work(world, { name })));
  },
  "a program after another that was killed": async (world) => {
    await work(world, { name: "killed", callsUntilKill: Math.floor(world.chance() * 60) });
    await work(world, { name: "next" });
  },
  "a program while another cleans": async (world) => {
    await work(world, { name: "before" });
    const fs = world.disk.program();
    for (const event of world.log)
      if (event.type === "done" && event.store === "output")
        fs.touch(outputPath(`${STATE}/outputs`, event.handle), Date.now() - 8 * 24 * HOUR_MS);
    // What was put before may go; what is put again meanwhile must stay.
    world.log.push({ type: "cleaned" });
    const cleaning = cleanOutputs({ root: `${STATE}/outputs`, fs });
    await Promise.all([cleaning, work(world, { name: "meanwhile" })]);
  },
};

describe.each(Object.entries(ways))("a power cut at any moment of %s", (name, way) => {
  it("takes nothing that was acknowledged, and the stores go on", async () => {
    const wanted = Math.ceil(CUTS / Object.keys(ways).length);
    let acknowledged = 0;
    let cuts = 0;
    const lost: string[] = [];
    for (let seed = 1; cuts < wanted; seed += 1) {
      const { moments, log } = await runWay(way, seed);
      for (const { left, events } of moments.slice(0, wanted - cuts)) {
        const before = log.slice(0, events);
        acknowledged += before.filter(({ type }) => type === "done").length;
        cuts += 1;
        for (const what of await missingAfter(left, before))
          lost.push(`seed ${seed}, call ${events}: ${what}`);
      }
    }
    console.log(
      `${name}: ${cuts} power cuts, ${acknowledged} acknowledged writes looked for, ${lost.length} lost`,
    );
    expect(acknowledged).toBeGreaterThan(cuts);
    expect(lost).toEqual([]);
  });
});

interface World {
  readonly disk: PowerCutDisk;
  readonly log: Event[];
  readonly chance: () => number;
  readonly now: () => number;
}

/** What was asked of a store, and what it answered. A record without a value was deleted. */
type Event =
  | {
      readonly type: "begun" | "done";
      readonly store: "record";
      readonly id: string;
      readonly value?: number;
      readonly version?: number;
    }
  | { readonly type: "done"; readonly store: "journal"; readonly value: string; readonly sequence: number }
  | { readonly type: "done"; readonly store: "output"; readonly text: string; readonly handle: string }
  | { readonly type: "cleaned" };

interface Moment {
  readonly left: PowerCutDisk;
  /** How much had happened. */
  readonly events: number;
}

async function runWay(
  way: Way,
  seed: number,
): Promise<{ readonly moments: readonly Moment[]; readonly log: readonly Event[] }> {
  const random = createSeededRandom(seed);
  const chance = (): number => random.below(1_000_000) / 1_000_000;
  const disk = createPowerCutDisk(HOME);
  const log: Event[] = [];
  const moments: Moment[] = [];
  disk.onCall = () => {
    if (chance() < CUT_SHARE) moments.push({ left: disk.afterCut(chance), events: log.length });
  };
  await way({ disk, log, chance, now: Date.now });
  return { moments, log };
}

const CUT_SHARE = 0.04;
const STEPS = 12;

/** A program that writes to all three stores. It ends where it is killed. */
async function work(world: World, { name, callsUntilKill }: Program): Promise<void> {
  const { disk, log, chance, now } = world;
  const { records, journal, outputs } = openStores(disk.program(callsUntilKill), now);
  const versions = new Map<string, number>();
  for (let step = 0; step < STEPS; step += 1) {
    const which = chance();
    if (which < 0.3) {
      const text = chance() < 0.3 ? "the same for all" : `output ${step} of ${name}`;
      const stored = await outputs.put(text);
      if (stored.status === "stored")
        log.push({ type: "done", store: "output", text, handle: stored.handle });
    } else if (which < 0.6) {
      const value = `entry ${step} of ${name}`;
      const appended = await journal.append(value);
      if (appended.status === "appended")
        log.push({ type: "done", store: "journal", value, sequence: appended.sequence });
    } else {
      const id = `${name}-${Math.floor(chance() * 2)}`;
      const version = versions.get(id);
      if (version !== undefined && chance() < 0.4) {
        log.push({ type: "begun", store: "record", id });
        const deleted = await records.delete(id, version);
        if (deleted.status !== "deleted") return;
        log.push({ type: "done", store: "record", id });
        versions.delete(id);
      } else {
        log.push({ type: "begun", store: "record", id, value: step });
        const stored = await records.put({ id, value: step, expected: version ?? "missing" });
        if (stored.status !== "stored") return;
        log.push({ type: "done", store: "record", id, value: step, version: stored.version });
        versions.set(id, stored.version);
      }
    }
  }
}

interface Program {
  readonly name: string;
  readonly callsUntilKill?: number;
}

function openStores(fs: FileSystem, now: () => number) {
  return {
    records: createFileRecordStore({ root: `${STATE}/forks/project`, fs, now }),
    journal: createFileJournal({ root: `${STATE}/journal`, session: "s", fs, now }),
    outputs: createFileOutputStore({ root: `${STATE}/outputs`, fs, now, cleaning: "never" }),
  };
}

/** What is not there of what was acknowledged, or cannot be written again, by a program that starts after the cut; its clock was set back. */
async function missingAfter(left: PowerCutDisk, log: readonly Event[]): Promise<readonly string[]> {
  const stores = openStores(left.program(), () => Date.now() - HOUR_MS);
  return [
    ...(await missingOutputs(stores, log)),
    ...(await missingEntries(stores, log)),
    ...(await missingRecords(stores, log)),
  ];
}

type Stores = ReturnType<typeof openStores>;

async function missingOutputs({ outputs }: Stores, log: readonly Event[]): Promise<readonly string[]> {
  const lost: string[] = [];
  const cleanedAt = log.findIndex(({ type }) => type === "cleaned");
  for (const [index, event] of log.entries()) {
    if (event.type !== "done" || event.store !== "output" || index < cleanedAt) continue;
    const text = await outputs.get(event.handle);
    if (text !== event.text) lost.push(`output ${JSON.stringify(event.text)}: ${JSON.stringify(text)}`);
  }
  const again = await outputs.put("after the cut");
  return again.status === "stored" ? lost : [...lost, again.reason];
}

async function missingEntries({ journal }: Stores, log: readonly Event[]): Promise<readonly string[]> {
  const { entries, problems } = await journal.read();
  const values = new Set(entries.map(({ value }) => value));
  let last = 0;
  const lost = log.flatMap((event) => {
    if (event.type !== "done" || event.store !== "journal") return [];
    last = Math.max(last, event.sequence);
    return values.has(event.value) ? [] : [event.value];
  });
  for (const { type, reason } of problems) if (type !== "torn-tail") lost.push(reason);
  const again = await journal.append("after the cut");
  if (again.status === "failed" || again.sequence <= last) lost.push(`appended: ${JSON.stringify(again)}`);
  return lost;
}

async function missingRecords({ records }: Stores, log: readonly Event[]): Promise<readonly string[]> {
  const lost: string[] = [];
  const events = log.flatMap((event) => ("store" in event && event.store === "record" ? [event] : []));
  for (const id of new Set(events.map((event) => event.id))) {
    const own = events.filter((event) => event.id === id);
    const lastDone = own.findLast(({ type }) => type === "done");
    const lastBegun = own.at(-1);
    const allowed = [lastDone?.value, lastBegun?.value];
    const found = await records.get(id);
    const value = found.status === "found" ? found.value : undefined;
    const isWhole = found.status === "found" ? found.recovered !== true : found.status === "missing";
    if (!isWhole || !allowed.includes(value as number | undefined))
      lost.push(`${id} is ${JSON.stringify(found)} and not one of ${JSON.stringify(allowed)}`);
    const expected = found.status === "found" ? found.version : "missing";
    const again = await records.put({ id, value: -1, expected });
    const versions = own.flatMap(({ version }) => version ?? []);
    if (again.status !== "stored" || again.version <= Math.max(0, ...versions))
      lost.push(`${id} put again: ${JSON.stringify(again)}`);
  }
  return lost;
}
