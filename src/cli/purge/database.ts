import { readForkRecord } from "../../fork/life/stored-record.ts";
import { isRunning, logsOf } from "../../plugin/stores/control-store.ts";
import { scopeKind } from "../../plugin/stores/open-stores.ts";
import { pathName } from "../../stores/files/path-name.ts";
import type { PostgresInventory, RowsToDelete, ScopedRecord } from "../../stores/postgres/inventory.ts";
import { createLoadPg } from "../../stores/postgres/pool.ts";
import { createPostgresStores, type PostgresStores } from "../../stores/postgres/stores.ts";
import type { StoreFailure } from "../../stores/store-failure.ts";
import { groupBy } from "../../text/json.ts";
import { databaseError, packageFolders } from "../opencode/with-stores.ts";
import type { Purged } from "./folders.ts";
import {
  addRecords,
  createInventoryDraft,
  type Inventory,
  type InventoryDraft,
  type RecordPlace,
  runningInstances,
  sessionById,
} from "./inventory.ts";
import { type InventoryFile, type PurgePlan, type PurgeRequest, planPurge } from "./plan.ts";

/** The database of a fleet, for somebody who wants to be rid of what is in it; with all the time that a large one takes. */
export function openPurgeDatabase(connectionString: string): PostgresStores {
  return createPostgresStores({
    connectionString,
    statementTimeoutMs: STATEMENT_MS,
    cleaning: "never",
    load: createLoadPg(packageFolders()),
  });
}

/** Everything in a database, of all machines that use it, sorted as files are. Throws when it cannot be read. */
export async function readDatabaseInventory(stores: PostgresStores): Promise<Inventory> {
  const inventory = await stores.inventory();
  if ("status" in inventory) throw databaseError(inventory);
  return inventoryOf(inventory, stores.now());
}

/** Removes of a plan what is still so, in one transaction; nothing goes that was not in the plan. */
export async function purgeDatabase(stores: PostgresStores, options: PurgeDatabaseOptions): Promise<Purged> {
  const { plan, question, signal } = options;
  let chosen: Chosen = NOTHING;
  const purged = await stores.purge((inventory) => {
    chosen = signal.aborted
      ? NOTHING
      : choose(inventory, { plan, question: { ...question, nowMs: stores.now() } });
    return chosen.rows;
  });
  if (purged.status === "failed")
    return { status: "purged", files: 0, bytes: 0, problems: [describeFailure(purged)] };
  const spared = chosen.rows.outputs.length - purged.outputs;
  return {
    status: signal.aborted ? "stopped" : "purged",
    files: purged.logs + purged.records + purged.outputs + chosen.claimantsOnly,
    bytes: purged.bytes,
    problems:
      spared > 0 ? [`${spared} of the outputs, since somebody has just used them; they go by their age`] : [],
  };
}

interface PurgeDatabaseOptions {
  /** What was shown. */
  readonly plan: PurgePlan;
  readonly question: PurgeRequest;
  readonly signal: AbortSignal;
}

const STATEMENT_MS = 600_000;
/** Between an output and the entry that names it; nobody needs so long. */
const MIN_OUTPUT_AGE_MS = 60_000;

interface Chosen {
  readonly rows: RowsToDelete;
  /** Sessions of which there are only claims. */
  readonly claimantsOnly: number;
}

const NOTHING: Chosen = {
  rows: { sessions: [], records: [], outputs: [], minAgeMs: 0 },
  claimantsOnly: 0,
};

function choose(
  inventory: PostgresInventory,
  { plan, question }: Pick<PurgeDatabaseOptions, "plan" | "question">,
): Chosen {
  const now = inventoryOf(inventory, question.nowMs);
  const shown = {
    sessions: new Set(plan.sessions.map(({ name }) => name)),
    others: new Set([...plan.contents, ...plan.leftovers].map(({ path }) => path)),
  };
  const { sessions, contents, leftovers } = planPurge(now, { ...question, only: shown.sessions });
  const isShown = ({ path }: InventoryFile): boolean => shown.others.has(path);
  const doomed = new Set(
    [...leftovers.filter(isShown), ...sessions.flatMap((session) => [...session.logs, ...session.forks])].map(
      ({ path }) => path,
    ),
  );
  return {
    rows: {
      sessions: sessions.map(({ id }) => id),
      records: inventory.records.filter((record) => doomed.has(recordPath(record))),
      outputs: contents.filter(isShown).map(({ handle }) => handle),
      minAgeMs: now.running === 0 ? 0 : MIN_OUTPUT_AGE_MS,
    },
    claimantsOnly: sessions.filter(({ logs }) => logs.some(({ path }) => path.startsWith(CLAIMS_PATH)))
      .length,
  };
}

const CLAIMS_PATH = "spill_claims/";

function inventoryOf({ logs, records, outputs, claims }: PostgresInventory, nowMs: number): Inventory {
  const taking = createInventoryDraft(nowMs);
  addRecords(placesOf(records.filter(isOurs)), taking);
  // A program's own records: nobody but that program knows when they are old.
  for (const record of records.filter((each) => !isOurs(each)))
    taking.leftovers.push({ ...fileOf(record), usedAtMs: Number.POSITIVE_INFINITY });
  for (const { sessionId, bytes, writtenAtMs, handles } of logs) {
    const draft = sessionById(taking, sessionId);
    draft.logs.push({ path: `journals/${sessionId}`, sizeBytes: bytes, usedAtMs: writtenAtMs });
    for (const handle of handles) draft.handles.add(handle);
  }
  addClaims({ outputs, claims }, taking);
  addWriters(taking);
  const inherited = new Set(records.map(({ value }) => readForkRecord(value)?.inherited.snapshotId));
  return {
    sessions: [...taking.sessions.values()],
    contents: outputs.map(({ handle, bytes, usedAtMs }) => ({
      path: `spills/${handle}`,
      sizeBytes: bytes,
      usedAtMs,
      root: "spills",
      handle,
      kind: inherited.has(handle) ? "view" : "spill",
    })),
    leftovers: taking.leftovers,
    running: runningInstances(taking).length,
    problems: taking.problems,
  };
}

function isOurs({ scope }: ScopedRecord): boolean {
  return scopeKind(scope) !== "other";
}

function placesOf(records: readonly ScopedRecord[]): readonly RecordPlace[] {
  return Array.from(
    groupBy(records, ({ scope }) => scope),
    ([scope, each]) => ({
      folder: `records/${scope}`,
      files: each.map((record) => ({ ...fileOf(record), name: record.id })),
      records: each.filter(({ value }) => value !== undefined),
    }),
  );
}

function fileOf(record: ScopedRecord): InventoryFile {
  return { path: recordPath(record), sizeBytes: record.bytes, usedAtMs: record.storedAtMs };
}

/** As the path of a fork's record is made. */
function recordPath({ scope, id }: Pick<ScopedRecord, "scope" | "id">): string {
  return `records/${scope}/${id}.json`;
}

function addClaims(
  { outputs, claims }: Pick<PostgresInventory, "outputs" | "claims">,
  taking: InventoryDraft,
): void {
  const usedAtMs = new Map(outputs.map((output) => [output.handle, output.usedAtMs]));
  const newest = new Map<string, number>();
  for (const { handle, claimant } of claims) {
    sessionById(taking, claimant).handles.add(handle);
    newest.set(claimant, Math.max(newest.get(claimant) ?? 0, usedAtMs.get(handle) ?? 0));
  }
  for (const [claimant, atMs] of newest) {
    const { logs } = sessionById(taking, claimant);
    if (logs.length === 0) logs.push({ path: `${CLAIMS_PATH}${claimant}`, sizeBytes: 0, usedAtMs: atMs });
  }
}

function addWriters(taking: InventoryDraft): void {
  for (const lease of taking.leases.filter((each) => isRunning(each, taking.nowMs)))
    for (const root of logsOf(lease)) {
      const draft = taking.sessions.get(pathName(root));
      const { host, pid } = lease.process;
      const machine = host.split("/")[0] ?? host;
      if (draft !== undefined) draft.usedBy ??= `process ${pid} on ${machine} writes its log`;
    }
}

/** The answer to a commit can be lost as well. */
function describeFailure({ code, reason }: StoreFailure): string {
  return `${reason} (${code}); all of it is gone or nothing is, ask again to see which`;
}
