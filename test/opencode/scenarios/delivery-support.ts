import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { deliveryIdsIn } from "../../../src/fork/life/notice.ts";
import type { ForkRecord } from "../../../src/fork/life/record.ts";
import { readForkRecord } from "../../../src/fork/life/stored-record.ts";
import { createFileRecordStore } from "../../../src/stores/files/record-store.ts";
import type { StoredMessage } from "../../rig/opencode/opencode-client.ts";
import type { HostRig } from "../harness/host-rig.ts";
import type { Rig } from "../harness/rig.ts";

/** Shorter waits for a parent that is busy or does not answer. */
export const SHORT_WAITS: Readonly<Record<string, string>> = {
  CARRYOVER_TEST_BUSY_MS: "6000",
  CARRYOVER_TEST_ANSWER_MS: "2000",
};

/** The records of all forks as they are stored now, and what could not be read of them. */
export async function storedForks(rig: HostRig): Promise<StoredForks> {
  const folder = join(rig.sandbox.home, ".local", "share", "carryover", "forks");
  const records: ForkRecord[] = [];
  const problems: string[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const listed = await createFileRecordStore({ root: join(folder, name) }).list();
    if (listed.status === "failed") throw new Error(listed.reason);
    records.push(...listed.records.flatMap(({ value }) => readForkRecord(value) ?? []));
    problems.push(...listed.problems.map(({ place, reason }) => `${place}: ${reason}`));
  }
  return { records, problems };
}

export interface StoredForks {
  readonly records: readonly ForkRecord[];
  readonly problems: readonly string[];
}

/** The stored forks of one parent, by number. */
export async function forksOf(rig: HostRig, parentSessionId: string): Promise<readonly ForkRecord[]> {
  const { records } = await storedForks(rig);
  return records
    .filter((record) => record.parentSessionId === parentSessionId)
    .toSorted((a, b) => a.number - b.number);
}

/** Waits until every run of every fork of a parent is in one of these states. */
export function waitForRuns(
  rig: HostRig,
  parentSessionId: string,
  states: readonly string[],
): Promise<unknown> {
  return rig.waitFor(
    async () => {
      const forks = await forksOf(rig, parentSessionId);
      return forks.length > 0 && forks.every(({ runs }) => runs.every(({ state }) => states.includes(state)));
    },
    `the forks of ${parentSessionId} to be ${states.join(" or ")}`,
  );
}

/** The messages that carry results, with how many each. */
export async function carriersOf(rig: Rig, sessionId: string): Promise<readonly Carrying[]> {
  const messages = await rig.opencode.messages(sessionId);
  return messages.flatMap((message) => {
    const count = message.parts.reduce((sum, part) => sum + deliveryIdsIn(String(part.text ?? "")).length, 0);
    return count === 0 ? [] : [{ message, count }];
  });
}

export interface Carrying {
  readonly message: StoredMessage;
  readonly count: number;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
