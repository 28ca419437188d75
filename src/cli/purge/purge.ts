import { createInterface } from "node:readline/promises";
import { Command, InvalidArgumentError } from "commander";
import { formatSpan } from "../../fork/life/prompt.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { DATABASE_LABEL, findPluginFolders, findStoreOption } from "../opencode/with-stores.ts";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";
import {
  type Colors,
  colorsFor,
  formatCount,
  formatNumber,
  renderTable,
  terminalPath,
  terminalText,
} from "../terminal/output.ts";
import { openPurgeDatabase, purgeDatabase, readDatabaseInventory } from "./database.ts";
import { type Purged, readFolderInventory, runPurge } from "./folders.ts";
import type { Inventory } from "./inventory.ts";
import {
  type InventoryContent,
  type InventoryFile,
  lastUsedAt,
  type PurgeFilter,
  type PurgePlan,
  type PurgeRequest,
  planPurge,
  sizeOfPlan,
} from "./plan.ts";

/** `carryover purge`: says what is kept on this machine or in the plugin's database, and deletes what is named. */
export function purgeCommand(): Command {
  return new Command("purge")
    .description(
      "list what Carryover keeps, on this machine or in the plugin's database, and delete what you name",
    )
    .option("--session <id>", "what belongs to this root session, and to nothing else")
    .option("--older-than <span>", "what was not used for so long, such as 30d or 12h", parseDuration)
    .option("--all", "everything")
    .option("--dry-run", "only list what would go")
    .option("--yes", "do not ask")
    .option("--force", "also what a running program works with")
    .option("--json", "print for a program to read")
    .option("--store <folder>", "the plugin's folder, if it is not the one of OpenCode's configuration here")
    .addHelpText("after", EXAMPLES)
    .action(runPurgeCommand);
}

const EXAMPLES = `
Examples:
  carryover purge                            what is kept, and how much
  carryover purge --older-than 30d --dry-run
  carryover purge --session ses_abc
  carryover purge --all --yes

Where the plugin keeps everything in a database this is about the database, with all machines that use it.
What a running OpenCode works with stays unless --force is given. Sessions of OpenCode itself are never touched.
Exit codes: 0 deleted or listed, 2 nothing was chosen or not everything could be deleted, 130 stopped with Ctrl-C.`;

interface PurgeFlags {
  readonly session?: string;
  readonly olderThan?: number;
  readonly all?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly force?: true;
  readonly json?: true;
  readonly store?: string;
}

async function runPurgeCommand(flags: PurgeFlags): Promise<void> {
  const store = await findStoreOption(flags.store);
  if (store === undefined || !isDatabase(store)) return purgePlace(await folderPlace(flags), flags);
  const stores = openPurgeDatabase(store);
  try {
    await purgePlace(
      {
        name: "database",
        place: DATABASE_LABEL,
        note: `It is shared by all who use it. Files from before: carryover purge --store ${(await findPluginFolders(undefined)).root}`,
        unit: "item",
        now: stores.now,
        take: () => readDatabaseInventory(stores),
        remove: (plan, { question, signal }) => purgeDatabase(stores, { plan, question, signal }),
      },
      flags,
    );
  } finally {
    await stores.close();
  }
}

/** Where things are kept, and how they go. */
interface PurgePlace {
  /** For a program to read. */
  readonly name: string;
  /** The same for a person; never an address. */
  readonly place: string;
  /** What a person has to know before they choose. */
  readonly note?: string;
  readonly unit: PurgeUnit;
  now(): number;
  take(): Promise<Inventory>;
  remove(plan: PurgePlan, removing: Removing): Promise<Purged>;
}

interface Removing {
  readonly question: PurgeRequest;
  readonly inventory: Inventory;
  readonly signal: AbortSignal;
}

async function folderPlace({ store }: PurgeFlags): Promise<PurgePlace> {
  const folders = await findPluginFolders(store);
  const places = store === undefined ? "usual" : "named";
  return {
    name: folders.root,
    place: folders.root,
    unit: "file",
    now: Date.now,
    take: () => readFolderInventory({ folders, places, nowMs: Date.now() }),
    remove: (plan, { inventory: { running }, signal }) => runPurge(plan, { isQuiet: running === 0, signal }),
  };
}

async function purgePlace(from: PurgePlace, flags: PurgeFlags): Promise<void> {
  const wish = readFilter(flags);
  const inventory = await from.take();
  for (const problem of inventory.problems) process.stderr.write(`warning: ${problem}\n`);
  const force = flags.force ? "in-use-too" : "never";
  const question: PurgeRequest = { wish: wish ?? { type: "all" }, force, nowMs: from.now() };
  const plan = planPurge(inventory, question);
  const isOnlyShown = wish === undefined || flags.dryRun === true;
  if (!flags.json || isOnlyShown) printPlan({ plan, inventory, flags, from });
  if (wish === undefined && !flags.json)
    process.stdout.write(
      `${from.note === undefined ? "" : `\n${from.note}`}\nNothing was deleted. Say what: --session, --older-than or --all.\n`,
    );
  if (isOnlyShown) return;
  if (wish.type === "session" && plan.sessions.length + plan.inUse.length === 0)
    throw new CliError(`Nothing is kept under the root session ${flags.session}`, [
      "`carryover purge` lists what there is.",
    ]);
  if (isEmpty(plan)) return printOutcome({ flags, plan, purged: NOTHING, unit: from.unit });
  if (!(await isConfirmed(flags))) return;
  const purged = await withInterrupt((signal) => from.remove(plan, { question, inventory, signal }));
  printOutcome({ flags, plan, purged, unit: from.unit });
}

const NOTHING: Purged = { status: "purged", files: 0, bytes: 0, problems: [] };

function readFilter({ session, olderThan, all }: PurgeFlags): PurgeFilter | undefined {
  const wishes: PurgeFilter[] = [
    ...(session === undefined ? [] : [{ type: "session" as const, name: pathName(session) }]),
    ...(olderThan === undefined ? [] : [{ type: "older" as const, thanMs: olderThan }]),
    ...(all ? [{ type: "all" as const }] : []),
  ];
  if (wishes.length > 1) throw new CliError("Give one of --session, --older-than and --all", []);
  return wishes[0];
}

function parseDuration(value: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})(m|h|d|w)$/.exec(value.trim()) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs === undefined) throw new InvalidArgumentError("Give a span such as 30d, 12h, 90m or 2w.");
  return Number(count) * unitMs;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

interface PrintedPlan {
  readonly plan: PurgePlan;
  readonly inventory: Inventory;
  readonly flags: PurgeFlags;
  readonly from: PurgePlace;
}

function printPlan({
  plan,
  inventory: { running },
  flags,
  from: { name, place, unit, now },
}: PrintedPlan): void {
  const text = flags.json
    ? JSON.stringify({ store: name, running, ...jsonOf(plan) }, null, 2)
    : purgeReport({ plan, root: place, running, nowMs: now(), unit, colors: colorsFor(process.stdout) });
  process.stdout.write(`${text}\n`);
}

function jsonOf({ sessions, contents, leftovers, inUse }: PurgePlan) {
  const files = (each: { readonly path: string; readonly sizeBytes: number }) => ({
    path: each.path,
    bytes: each.sizeBytes,
  });
  return {
    sessions: sessions.map(({ id, logs, forks }) => ({
      id,
      files: [...logs, ...forks].map(files),
    })),
    contents: contents.map(({ kind, ...content }) => ({ kind, ...files(content) })),
    leftovers: leftovers.map(files),
    inUse: inUse.map(({ id, usedBy }) => ({ id, usedBy })),
  };
}

function isEmpty({ sessions, contents, leftovers }: PurgePlan): boolean {
  return sessions.length + contents.length + leftovers.length === 0;
}

async function isConfirmed({ yes, json }: PurgeFlags): Promise<boolean> {
  if (yes) return true;
  if (json || !process.stdin.isTTY)
    throw new CliError("Nothing was deleted: nobody is there to be asked", ["Add --yes, or --dry-run."]);
  if (/^y(?:es)?$/i.test((await ask("Delete this? It cannot be brought back. [y/N] ")).trim())) return true;
  process.stdout.write("Nothing was deleted.\n");
  return false;
}

/** What a person answers on the terminal; nothing when they end the input. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("close", () => resolve(""));
      lines.once("SIGINT", () => reject(interrupted("Nothing was deleted")));
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}

function interrupted(message: string): CliError {
  return new CliError(message, [], { exitCode: EXIT_CODES.stopped });
}

/** Ctrl-C stops between two files, so that what is left is whole; what goes in one step goes or stays. */
async function withInterrupt(job: (signal: AbortSignal) => Promise<Purged>): Promise<Purged> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop);
  try {
    return await job(stopping.signal);
  } finally {
    process.off("SIGINT", stop);
  }
}

interface PrintedOutcome {
  readonly flags: PurgeFlags;
  readonly plan: PurgePlan;
  readonly purged: Purged;
  readonly unit: PurgeUnit;
}

function printOutcome({ flags: { json }, plan, purged, unit }: PrintedOutcome): void {
  const { status, files, bytes, problems } = purged;
  process.stdout.write(
    json
      ? `${JSON.stringify({ ...purged, ...jsonOf(plan) }, null, 2)}\n`
      : `\n${status === "stopped" ? "Stopped. " : ""}Deleted ${formatCount(files, unit)}, ${formatBytes(bytes)}.\n`,
  );
  for (const problem of problems) process.stderr.write(`warning: not deleted: ${problem}\n`);
  if (status === "stopped") throw interrupted("Stopped; ask again for the rest");
  if (problems.length > 0) throw new CliError("Not everything could be deleted", ["Try again."]);
}

interface PurgeReportInput {
  readonly plan: PurgePlan;
  readonly root: string;
  /** Plugins at work. */
  readonly running: number;
  readonly nowMs: number;
  /** What is counted. */
  readonly unit: PurgeUnit;
  readonly colors: Colors;
}

/** What a thing that is kept is called: in a folder, and in a database. */
type PurgeUnit = "file" | "item";

/** What would go, with sizes, and what stays because somebody works with it, for a person to read. */
function purgeReport({ plan, root, running, nowMs, unit, colors }: PurgeReportInput): string {
  const { files, bytes } = sizeOfPlan(plan);
  const ago = (atMs: number): string => `${formatSpan(Math.max(0, nowMs - atMs))} ago`;
  const sessions = plan.sessions.toSorted((left, right) => lastUsedAt(right) - lastUsedAt(left));
  const more = sessions.length - MAX_SESSIONS;
  const table = renderTable([
    ...sessions
      .slice(0, MAX_SESSIONS)
      .map((session) => [
        terminalText(session.id, MAX_NAME_CHARS),
        formatBytes(bytesOf([...session.logs, ...session.forks])),
        formatCount(session.forks.length, "fork"),
        ago(lastUsedAt(session)),
      ]),
    ...(more > 0 ? [[`and ${formatCount(more, "session")} more`]] : []),
    ...KINDS.flatMap(([kind, name]) => {
      const those = plan.contents.filter((content) => content.kind === kind);
      return those.length === 0 ? [] : [[name, formatBytes(bytesOf(those)), formatCount(those.length, unit)]];
    }),
    ...(plan.leftovers.length === 0
      ? []
      : [["other", formatBytes(bytesOf(plan.leftovers)), formatCount(plan.leftovers.length, unit)]]),
  ]);
  return [
    colors.bold(terminalPath(root, MAX_PATH_CHARS)),
    ...(running === 0 ? [] : [`${formatCount(running, "program")} at work on it`]),
    ...(files === 0 ? ["  nothing"] : [table, `  ${formatCount(files, unit)}, ${formatBytes(bytes)}`]),
    ...(plan.inUse.length === 0 ? [] : ["", colors.bold("In use, and left alone")]),
    ...plan.inUse.map(
      ({ id, usedBy }) =>
        `  ${terminalText(id, MAX_NAME_CHARS)}  ${terminalText(usedBy ?? "", MAX_PATH_CHARS)}`,
    ),
  ].join("\n");
}

/** A size as people read it. */
function formatBytes(bytes: number): string {
  const [unit, name] = UNITS.find(([least]) => bytes >= least) ?? [1, "bytes"];
  return `${unit === 1 ? formatNumber(bytes) : (bytes / unit).toFixed(1)} ${name}`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

const KINDS: readonly (readonly [InventoryContent["kind"], string])[] = [
  ["spill", "whole outputs"],
  ["view", "inherited conversations"],
  ["long", "long entries of logs"],
];

const MAX_SESSIONS = 20;
const MAX_NAME_CHARS = 60;
const MAX_PATH_CHARS = 100;

function bytesOf(files: readonly InventoryFile[]): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
