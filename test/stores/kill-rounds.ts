import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { ageTemporaries, checkAfterKill, temporariesBelow } from "./kill-checks.ts";
import { KILL_KINDS, KILL_SIZES_BYTES, type KillAck, type KillKind } from "./kill-protocol.ts";

/** Kills children at random moments of writing, every kind and size as often as asked, and looks each time at what is left. */
export async function runKillRounds({ childPath, rounds, onRow }: KillRounds): Promise<readonly KillRow[]> {
  const rows: KillRow[] = [];
  // One after the other: looking at one store would delay the kill in another.
  for (const kind of KILL_KINDS) {
    for (const sizeBytes of KILL_SIZES_BYTES) {
      const row = await runCase({ childPath, rounds, kind, sizeBytes });
      rows.push(row);
      onRow?.(row);
    }
  }
  return rows;
}

export interface KillRounds {
  readonly childPath: string;
  readonly rounds: number;
  readonly onRow?: (row: KillRow) => void;
}

/** What came out for one kind and size. */
export interface KillRow {
  readonly kind: KillKind;
  readonly sizeBytes: number;
  readonly kills: number;
  readonly acknowledged: number;
  readonly lost: readonly string[];
  readonly unreadable: readonly string[];
  readonly tornTails: number;
  readonly temporariesLeft: number;
  readonly temporariesAfterStart: number;
}

// A few rounds share a folder, so that each also starts on what an earlier kill has left.
const ROUNDS_PER_FOLDER = 5;
const MAX_DELAY_MS = 45;

async function runCase(options: Omit<KillRounds, "onRow"> & Case): Promise<KillRow> {
  const row = { kills: 0, acknowledged: 0, tornTails: 0, temporariesLeft: 0, temporariesAfterStart: 0 };
  const lost: string[] = [];
  const unreadable: string[] = [];
  for (let first = 0; first < options.rounds; first += ROUNDS_PER_FOLDER) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "carryover-kill-")));
    const root = join(folder, "store");
    const acks: KillAck[] = [];
    let tornTails = 0;
    for (let round = first; round < Math.min(options.rounds, first + ROUNDS_PER_FOLDER); round += 1) {
      await keepLive(root, acks);
      const killed = await killOne({ ...options, root, label: `round${round}` });
      acks.push(...killed.acks);
      unreadable.push(...killed.complaints);
      row.kills += 1;
      row.acknowledged += killed.acks.length;
      row.temporariesLeft += temporariesBelow(root).length;
      ageTemporaries(root);
      const findings = await checkAfterKill[options.kind]({ root, sizeBytes: options.sizeBytes, acks });
      lost.push(...findings.lost);
      unreadable.push(...findings.unreadable);
      tornTails = findings.tornTails;
      row.temporariesAfterStart += temporariesBelow(root).length;
    }
    row.tornTails += tornTails;
    rmSync(folder, { recursive: true, force: true });
  }
  return { ...row, kind: options.kind, sizeBytes: options.sizeBytes, lost, unreadable };
}

interface Case {
  readonly kind: KillKind;
  readonly sizeBytes: number;
}

// The next child's cleaning must know what earlier children have acknowledged.
async function keepLive(root: string, acks: readonly KillAck[]): Promise<void> {
  const handles = acks.flatMap((ack) => ack.handle ?? []);
  if (handles.length === 0) return;
  mkdirSync(root, { recursive: true });
  const records = createFileRecordStore({ root: join(root, "live"), durable: false });
  const read = await records.get("handles");
  const expected = read.status === "found" ? read.version : "missing";
  await records.put({ id: "handles", value: handles, expected });
}

function killOne(options: Case & ChildStart): Promise<KilledChild> {
  const { childPath, kind, sizeBytes, root, label } = options;
  const child = spawn(process.execPath, [childPath, kind, String(sizeBytes), root, label], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let complaint = "";
  child.stderr.on("data", (data) => {
    complaint += String(data);
  });
  child.stdout.on("data", (data) => {
    if (output === "") setTimeout(() => child.kill("SIGKILL"), Math.random() * MAX_DELAY_MS);
    output += String(data);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (_code, signal) => {
      const lines = output
        .slice(0, output.lastIndexOf("\n") + 1)
        .split("\n")
        .filter(Boolean);
      const complaints = lines.filter((line) => line.startsWith('{"failed"'));
      if (signal !== "SIGKILL") complaints.push(`the child ended by itself: ${complaint}`);
      const acks = lines
        .filter((line) => !line.startsWith('{"failed"'))
        .map((line) => JSON.parse(line) as KillAck);
      resolve({ acks, complaints });
    });
  });
}

interface ChildStart {
  readonly childPath: string;
  readonly root: string;
  readonly label: string;
}

interface KilledChild {
  readonly acks: readonly KillAck[];
  readonly complaints: readonly string[];
}
