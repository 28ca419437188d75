import { readForkRecord } from "../../fork/life/stored-record.ts";
import { isRunning, logsOf } from "../../plugin/stores/control-store.ts";
import { scopeKind } from "../../plugin/stores/database-stores.ts";
import { pathName } from "../../stores/files/path-name.ts";
import type { PostgresInventory, RowsToDelete, ScopedRecord } from "../../stores/postgres/inventory.ts";
import { createLoadPg } from "../../stores/postgres/pool.ts";
import { openPostgresStores, type PostgresStores } from "../../stores/postgres/stores.ts";
import type { StoreFailure } from "../../text/failure.ts";
import { groupBy } from "../../text/group-by.ts";
import { databaseError, packageFolders } from "../opencode/with-stores.ts";
import {
  addRecords,
  createInventoryDraft,
  finishInventory,
  type Inventory,
  type InventoryDraft,
  type InventoryFile,
  type Purged,
  type PurgePlan,
  type PurgeRequest,
  planPurge,
  type RecordPlace,
  sessionById,
} from "./plan.ts";

/** Opens the plugin's database for a purge, with a long timeout, since reading a large one takes long. */
export function openPurgeDatabase(connectionString: string): PostgresStores {
  return openPostgresStores({
    connectionString,
    timeoutMs: PURGE_MS,
    cleaning: "never",
    load: createLoadPg(packageFolders()),
  });
}

/** Lists everything in a database, of all machines that use it. Throws when it cannot be read. */
export async function readDatabaseInventory(stores: PostgresStores): Promise<Inventory> {
  const inventory = await stores.inventory();
  if ("status" in inventory) throw databaseError(inventory);
  return inventoryOf(inventory, stores.now());
}

/** Plans once more in one transaction and deletes what is in both plans, so that nothing is deleted that was not shown. */
export async function purgeDatabase(stores: PostgresStores, options: PurgeDatabaseOptions): Promise<Purged> {
  const { plan, request, signal } = options;
  let chosen: Chosen = NOTHING;
  const purged = await stores.purge((inventory) => {
    if (!signal.aborted) chosen = choose(inventory, { plan, request: { ...request, nowMs: stores.now() } });
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
  /** As it was shown. */
  readonly plan: PurgePlan;
  readonly request: PurgeRequest;
  readonly signal: AbortSignal;
}

const PURGE_MS = 600_000;
/** An output is stored before the entry that names it: one so young may be about to be named. */
const MIN_OUTPUT_AGE_MS = 60_000;

interface Chosen {
  readonly rows: RowsToDelete;
  /** Number of sessions that have only claims. */
  readonly claimantsOnly: number;
}

const NOTHING: Chosen = {
  rows: { sessions: [], records: [], outputs: [], minAgeMs: 0 },
  claimantsOnly: 0,
};

function choose(
  inventory: PostgresInventory,
  { plan, request }: Pick<PurgeDatabaseOptions, "plan" | "request">,
): Chosen {
  const now = inventoryOf(inventory, request.nowMs);
  const shown = {
    sessions: new Set(plan.sessions.map(({ name }) => name)),
    others: new Set([...plan.contents, ...plan.leftovers].map(({ path }) => path)),
  };
  const { sessions, contents, leftovers } = planPurge(now, { ...request, only: shown.sessions });
  const isShown = ({ path }: InventoryFile): boolean => shown.others.has(path);
  const selected = new Set(
    [...leftovers.filter(isShown), ...sessions.flatMap((session) => [...session.logs, ...session.forks])].map(
      ({ path }) => path,
    ),
  );
  return {
    rows: {
      sessions: sessions.map(({ id }) => id),
      records: inventory.records.filter((record) => selected.has(recordPath(record))),
      outputs: contents.filter(isShown).map(({ handle }) => handle),
      minAgeMs: now.running === 0 ? 0 : MIN_OUTPUT_AGE_MS,
    },
    claimantsOnly: sessions.filter(({ logs }) => logs.some(({ path }) => path.startsWith(CLAIMS_PATH)))
      .length,
  };
}

const CLAIMS_PATH = "output_claims/";

function inventoryOf({ logs, records, outputs, claims }: PostgresInventory, nowMs: number): Inventory {
  const draft = createInventoryDraft(nowMs);
  addRecords(draft, placesOf(records.filter(isOurs)));
  // Records of other programs are never old enough, since only those programs know their age.
  for (const record of records.filter((each) => !isOurs(each)))
    draft.leftovers.push({ ...fileOf(record), usedAtMs: Number.POSITIVE_INFINITY });
  for (const { sessionId, bytes, writtenAtMs, handles } of logs) {
    const session = sessionById(draft, sessionId);
    session.logs.push({ path: `journals/${sessionId}`, sizeBytes: bytes, usedAtMs: writtenAtMs });
    for (const handle of handles) session.handles.add(handle);
  }
  addClaims(draft, { outputs, claims });
  addWriters(draft);
  const inherited = new Set(records.map(({ value }) => readForkRecord(value)?.inherited.snapshotId));
  const contents = outputs.map(({ handle, bytes, usedAtMs }) => ({
    path: `outputs/${handle}`,
    sizeBytes: bytes,
    usedAtMs,
    root: "outputs",
    handle,
    kind: inherited.has(handle) ? ("inherited" as const) : ("output" as const),
  }));
  return finishInventory(draft, contents);
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

/** Must be the path that `addRecords` gives to a fork. */
function recordPath({ scope, id }: Pick<ScopedRecord, "scope" | "id">): string {
  return `records/${scope}/${id}.json`;
}

function addClaims(
  draft: InventoryDraft,
  { outputs, claims }: Pick<PostgresInventory, "outputs" | "claims">,
): void {
  const usedAtMs = new Map(outputs.map((output) => [output.handle, output.usedAtMs]));
  const newest = new Map<string, number>();
  for (const { handle, claimant } of claims) {
    sessionById(draft, claimant).handles.add(handle);
    newest.set(claimant, Math.max(newest.get(claimant) ?? 0, usedAtMs.get(handle) ?? 0));
  }
  for (const [claimant, atMs] of newest) {
    const { logs } = sessionById(draft, claimant);
    if (logs.length === 0) logs.push({ path: `${CLAIMS_PATH}${claimant}`, sizeBytes: 0, usedAtMs: atMs });
  }
}

function addWriters(draft: InventoryDraft): void {
  for (const lease of draft.leases.filter((each) => isRunning(each, draft.nowMs)))
    for (const root of logsOf(lease)) {
      const session = draft.sessions.get(pathName(root));
      const { host, pid } = lease.process;
      const machine = host.split("/")[0] ?? host;
      if (session !== undefined) session.usedBy ??= `process ${pid} on ${machine} writes its log`;
    }
}

/** The connection may be lost after the commit, so that the outcome is unknown. */
function describeFailure({ code, reason }: StoreFailure): string {
  return `${reason} (${code}); all of it is gone or nothing is, ask again to see which`;
}
