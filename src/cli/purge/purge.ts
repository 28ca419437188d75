import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import { Command, InvalidArgumentError } from "commander";
import { formatSpan } from "../../fork/life/roster.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { formatBytes } from "../../text/format-number.ts";
import { MIN_ID_CHARS } from "../files/unreadable.ts";
import { DATABASE_LABEL, findPluginFolders, findStoreOption, STORE_OPTION } from "../opencode/with-stores.ts";
import { isOpenCodeId } from "../sessions/open-session.ts";
import { CliError, interrupted, withInterrupt } from "../terminal/cli-error.ts";
import { colorsFor, formatCount, terminalPath, terminalText } from "../terminal/output.ts";
import { printJson } from "../terminal/print-json.ts";
import { renderTable } from "../terminal/table.ts";
import { wrapped } from "../terminal/wrap.ts";
import { openPurgeDatabase, purgeDatabase, readDatabaseInventory } from "./database.ts";
import {
  addHandedSessions,
  purgeFolders,
  purgeHomeFiles,
  readFolderInventory,
  readHomeFiles,
} from "./folders.ts";
import {
  createInventoryDraft,
  filesOfPlan,
  type Inventory,
  type InventoryContent,
  type InventoryFile,
  lastUsedAt,
  type Purged,
  type PurgeFilter,
  type PurgePlan,
  type PurgeRequest,
  planPurge,
} from "./plan.ts";

/** `carryover purge`: lists what is stored on this machine or in the plugin's database, and deletes what is named. */
export function purgeCommand(): Command {
  return new Command("purge")
    .description(
      "list what Carryover keeps, on this machine or in the plugin's database, and delete what you name",
    )
    .option(
      "--session <id>",
      "what belongs to this root session, and to nothing else; or one that handoff or rescue has written",
    )
    .option("--older-than <span>", "what was not used for so long, such as 30d or 12h", parseDuration)
    .option("--all", "everything")
    .option("--dry-run", "only list what would go")
    .option("--yes", "do not ask")
    .option("--force", "also what a running program works with")
    .option("--json", "print for a program to read")
    .option(...STORE_OPTION)
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
What a running agent or fork works with stays unless --force is given. Sessions of the agents themselves are never touched:
of those that handoff and rescue wrote, only what nobody has gone on with goes.
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
  const folders = await findPluginFolders(undefined);
  const stores = openPurgeDatabase(store);
  try {
    await purgePlace(
      {
        name: "database",
        place: DATABASE_LABEL,
        note: `It is shared by all who use it. Files from before: carryover purge --store ${folders.root}`,
        unit: "item",
        now: stores.now,
        async read() {
          const inventory = await readDatabaseInventory(stores);
          const here = createInventoryDraft(stores.now());
          await addHandedSessions(here);
          return {
            ...inventory,
            sessions: [...inventory.sessions, ...here.sessions.values()],
            leftovers: [...inventory.leftovers, ...(await readHomeFiles(folders))],
          };
        },
        async remove(plan, { request, signal }) {
          const purged = await purgeDatabase(stores, { plan, request, signal });
          if (purged.status === "stopped") return purged;
          const here = await purgeHomeFiles([
            ...plan.leftovers.filter(({ path }) => dirname(path) === folders.root),
            ...plan.sessions.flatMap(({ handed, logs }) => (handed === undefined ? [] : logs)),
          ]);
          return {
            ...purged,
            files: purged.files + here.files,
            bytes: purged.bytes + here.bytes,
            problems: [...purged.problems, ...here.problems],
          };
        },
      },
      flags,
    );
  } finally {
    await stores.close();
  }
}

/** A place where things are stored, and how they are deleted there. */
interface PurgePlace {
  /** For `--json`. */
  readonly name: string;
  /** The same for the terminal; never the address of a database. */
  readonly place: string;
  readonly note?: string;
  /** What one stored thing is called. */
  readonly unit: "file" | "item";
  now(): number;
  read(): Promise<Inventory>;
  remove(plan: PurgePlan, removing: Removing): Promise<Purged>;
}

interface Removing {
  readonly request: PurgeRequest;
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
    read: () => readFolderInventory({ folders, places, nowMs: Date.now() }),
    remove: (plan, { inventory: { running }, signal }) =>
      purgeFolders(plan, { folders, places, isQuiet: running === 0, signal }),
  };
}

async function purgePlace(from: PurgePlace, flags: PurgeFlags): Promise<void> {
  const named = readFilter(flags);
  const inventory = await from.read();
  const filter = named?.type === "session" ? sessionFilter(named, flags, inventory) : named;
  for (const problem of inventory.problems) process.stderr.write(`warning: ${problem}\n`);
  const force = flags.force ? "in-use-too" : "never";
  const request: PurgeRequest = { filter: filter ?? { type: "all" }, force, nowMs: from.now() };
  const plan = planPurge(inventory, request);
  const isDryRun = filter === undefined || flags.dryRun === true;
  if (!flags.json) process.stdout.write(`${purgeReport({ plan, running: inventory.running, from })}\n`);
  else if (isDryRun) printJson({ store: from.name, running: inventory.running, ...describePlan(plan) });
  const isEmpty = plan.sessions.length + plan.contents.length + plan.leftovers.length === 0;
  if (filter === undefined && !flags.json) {
    const end = isEmpty ? [] : ["Nothing was deleted. Say what: --session, --older-than or --all."];
    const lines = [...(from.note === undefined ? [] : [from.note]), ...end];
    if (lines.length > 0) process.stdout.write(`\n${wrapped(lines.join("\n"), process.stdout)}\n`);
  }
  if (isDryRun) return;
  if (filter.type === "session" && plan.sessions.length + plan.inUse.length === 0)
    throw new CliError(`Nothing is kept under the session ${flags.session}`, [
      "`carryover purge` lists what there is.",
    ]);
  if (!isEmpty && !(await isConfirmed(flags))) return;
  // Folders of ours in which nothing is are removed, too.
  const purged = await withInterrupt((signal) => from.remove(plan, { request, inventory, signal }));
  if (flags.json) printJson({ ...purged, ...describePlan(plan) });
  else {
    const start = purged.status === "stopped" ? "Stopped. " : "";
    const count = formatCount(purged.files, from.unit);
    const deleted = `${start}Deleted ${count}, ${formatBytes(purged.bytes)}.`;
    process.stdout.write(`\n${[deleted, ...importedLines(plan)].join("\n")}\n`);
  }
  for (const problem of purged.problems) process.stderr.write(`warning: not deleted: ${problem}\n`);
  if (purged.status === "stopped") throw interrupted("Stopped; ask again for the rest");
  if (purged.problems.length > 0) throw new CliError("Not everything could be deleted", ["Try again."]);
}

/** The session by either of its ids, or by the beginning of one. */
function sessionFilter(
  filter: PurgeFilter & { readonly type: "session" },
  { session: id = "" }: PurgeFlags,
  { sessions }: Inventory,
): PurgeFilter {
  const exact = sessions.filter(({ name, writtenId }) => name === filter.name || writtenId === id);
  const begun = sessions.filter((each) => each.id.startsWith(id) || each.writtenId?.startsWith(id));
  const found = exact.length > 0 || id.length < MIN_ID_CHARS ? exact : begun;
  if (found.length > 1)
    throw new CliError(`${id} is the beginning of ${formatCount(found.length, "session id")}`, [
      ...found.slice(0, MAX_SESSIONS).map((each) => `  ${terminalText(each.id, MAX_NAME_CHARS)}`),
      "Name more of it.",
    ]);
  return { type: "session", name: found[0]?.name ?? filter.name };
}

/** OpenCode keeps what it has imported in a database of its own. */
function importedLines({ sessions }: PurgePlan): readonly string[] {
  const imported = sessions.filter(({ handed, id }) => handed !== undefined && isOpenCodeId(id));
  if (imported.length === 0) return [];
  return [
    "What OpenCode has imported stays in its database. There it is deleted with",
    ...imported.slice(0, MAX_SESSIONS).map(({ id }) => `  opencode session delete ${id}`),
  ];
}

function readFilter({ session, olderThan, all }: PurgeFlags): PurgeFilter | undefined {
  const filters: PurgeFilter[] = [
    ...(session === undefined ? [] : [{ type: "session" as const, name: pathName(session) }]),
    ...(olderThan === undefined ? [] : [{ type: "older" as const, thanMs: olderThan }]),
    ...(all ? [{ type: "all" as const }] : []),
  ];
  if (filters.length > 1) throw new CliError("Give one of --session, --older-than and --all");
  return filters[0];
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

/** A plan as `--json` prints it. */
function describePlan({ sessions, contents, leftovers, inUse }: PurgePlan) {
  const describeFile = ({ path, sizeBytes }: InventoryFile) => ({ path, bytes: sizeBytes });
  return {
    sessions: sessions.map(({ id, handed, logs, forks }) => ({
      id,
      ...(handed !== undefined && { handed }),
      files: [...logs, ...forks].map(describeFile),
    })),
    contents: contents.map((content) => ({ kind: content.kind, ...describeFile(content) })),
    leftovers: leftovers.map(describeFile),
    inUse: inUse.map(({ id, usedBy }) => ({ id, usedBy })),
  };
}

async function isConfirmed({ yes, json }: PurgeFlags): Promise<boolean> {
  if (yes) return true;
  if (json || !process.stdin.isTTY)
    throw new CliError("Nothing was deleted: nobody is there to be asked", ["Add --yes, or --dry-run."]);
  if (/^y(?:es)?$/i.test((await ask("Delete this? It cannot be brought back. [y/N] ")).trim())) return true;
  process.stdout.write("Nothing was deleted.\n");
  return false;
}

/** The answer to a question on the terminal; empty at the end of the input. */
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

interface PurgeReportInput {
  readonly plan: PurgePlan;
  /** How many plugins use the place. */
  readonly running: number;
  readonly from: PurgePlace;
}

/** What would be deleted, with sizes, and what is kept because a program uses it, for the terminal. */
function purgeReport({ plan, running, from: { place, unit, now } }: PurgeReportInput): string {
  const colors = colorsFor(process.stdout);
  const nowMs = now();
  const files = filesOfPlan(plan);
  const ago = (atMs: number): string => `${formatSpan(Math.max(0, nowMs - atMs))} ago`;
  const sessions = plan.sessions.toSorted((left, right) => lastUsedAt(right) - lastUsedAt(left));
  const more = sessions.length - MAX_SESSIONS;
  const table = renderTable([
    ...sessions
      .slice(0, MAX_SESSIONS)
      .map((session) => [
        terminalText(session.id, MAX_NAME_CHARS),
        formatBytes(bytesOf([...session.logs, ...session.forks])),
        session.handed ?? formatCount(session.forks.length, "fork"),
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
    colors.bold(terminalPath(place, MAX_PATH_CHARS)),
    ...(running === 0 ? [] : [`${formatCount(running, "program")} at work on it`]),
    ...(files.length === 0
      ? ["  nothing"]
      : [table, `  ${formatCount(files.length, unit)}, ${formatBytes(bytesOf(files))}`]),
    ...(plan.inUse.length === 0 ? [] : ["", colors.bold("In use, and left alone")]),
    ...plan.inUse.map(
      ({ id, usedBy }) =>
        `  ${terminalText(id, MAX_NAME_CHARS)}  ${terminalText(usedBy ?? "", MAX_PATH_CHARS)}`,
    ),
    ...(plan.inUse.length === 0
      ? []
      : [
          "  End the agent (OpenCode 2 with `opencode2 service stop`), or wait for its forks, and run this again; or use --force.",
        ]),
  ].join("\n");
}

const KINDS: readonly (readonly [InventoryContent["kind"], string])[] = [
  ["output", "whole outputs"],
  ["inherited", "inherited conversations"],
  ["long", "long entries of logs"],
];

const MAX_SESSIONS = 20;
const MAX_NAME_CHARS = 60;
const MAX_PATH_CHARS = 100;

function bytesOf(files: readonly InventoryFile[]): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
