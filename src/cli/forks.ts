import { Command } from "commander";
import { formatSpan } from "../fork/life/prompt.ts";
import { currentRun, type ForkRecord, isLive } from "../fork/life/record.ts";
import { askPlugin } from "../plugin/stores/control-store.ts";
import { type HeldQuestion, isHeld, type PluginStores } from "../plugin/stores/plugin-stores.ts";
import { type OpenedStores, withStores } from "./opencode/with-stores.ts";
import { CliError } from "./terminal/cli-error.ts";
import { renderTable, terminalText } from "./terminal/output.ts";

/** `carryover forks`: the forks of the OpenCode plugin, and a way to stop one from here. */
export function forksCommand(): Command {
  return new Command("forks")
    .description("list the forks of the OpenCode plugin, or stop one")
    .argument("[action]", "cancel")
    .argument("[id]", "the fork to cancel: its id, its number if only one that runs has it, or all")
    .option("--json", "print for a program to read")
    .option("--store <folder>", "the plugin's folder, if it is not the one of OpenCode's configuration here")
    .addHelpText("after", EXAMPLES)
    .action(runForks);
}

const EXAMPLES = `
Examples:
  carryover forks
  carryover forks --json | jq '.forks[] | select(.isLive)'
  carryover forks cancel 3

In a database that machines share, those of this home are listed, and what runs elsewhere; that is stopped by its id.
Exit codes: 0 listed or stopped, 2 nothing to stop or nobody answered, 1 a fault of Carryover.`;

interface ForksFlags {
  readonly json?: true;
  readonly store?: string;
}

async function runForks(
  action: string | undefined,
  id: string | undefined,
  { json, store }: ForksFlags,
): Promise<void> {
  if (action === undefined) return withStores(store, (opened) => list(opened, json));
  if (action !== "cancel") throw new CliError(`There is no "forks ${action}"`, ["Use: forks cancel <id>"]);
  if (id === undefined)
    throw new CliError("Which fork?", ["Use: forks cancel <id>; `carryover forks` lists them."]);
  return withStores(store, ({ stores }) => cancel(stores, id, json));
}

async function list({ stores, name, place }: OpenedStores, json: true | undefined): Promise<void> {
  const { records, elsewhere, leases, problems } = await stores.recordedForks();
  for (const problem of problems) process.stderr.write(`warning: ${problem}\n`);
  const question = { leases, nowMs: stores.now() };
  const running = elsewhere.map((record) => describe(record, question)).filter(({ isLive }) => isLive);
  const forks = [...records.map((record) => describe(record, question)), ...running];
  if (json) print(JSON.stringify({ store: name, forks }, null, 2));
  else
    print(
      renderTable(
        forks.map((fork) => [
          `#${fork.number}`,
          // What a model chose, or somebody else wrote into a database, must not speak to the terminal.
          terminalText(fork.title, MAX_TITLE_CHARS),
          fork.state,
          `${fork.calls} calls`,
          `$${fork.costUSD.toFixed(2)}`,
          fork.way,
          terminalText(fork.id, MAX_TITLE_CHARS),
        ]),
        { empty: `No forks are recorded in ${place}.` },
      ),
    );
}

async function cancel(stores: PluginStores, id: string, json: true | undefined): Promise<void> {
  const { records, elsewhere } = await stores.recordedForks();
  const { control } = stores;
  const wanted = selectForks([...records, ...elsewhere.filter((record) => record.id === id)], id);
  const answers: { readonly fork: string; readonly outcome: string; readonly text: string }[] = [];
  for (const { id: forkId } of wanted) {
    const asked = await askPlugin({ control, want: { type: "cancel-fork", forkId } });
    if (asked.status === "answered") answers.push({ fork: forkId, outcome: asked.outcome, text: asked.text });
    else if (asked.status === "failed") throw new CliError(`Fork ${forkId}: ${asked.reason}`, ["Try again."]);
    else
      throw new CliError(`Fork ${forkId} does not run: its OpenCode has ended`, [
        "It counts as interrupted as soon as OpenCode starts again in its project, and can be resumed there.",
      ]);
  }
  print(
    json
      ? JSON.stringify({ answers }, null, 2)
      : answers.map(({ text }) => terminalText(text, MAX_ANSWER_CHARS)).join("\n"),
  );
}

/** The forks that a person means: never a guess between two. */
function selectForks(records: readonly ForkRecord[], id: string): readonly ForkRecord[] {
  const live = records.filter((record) => isLive(currentRun(record)));
  if (id === "all" && live.length > 0) return live;
  if (id === "all") throw new CliError("No fork runs", []);
  const exact = records.find((record) => record.id === id);
  const found = exact ? [exact] : live.filter(({ number }) => `${number}` === id.replace(/^#/, ""));
  const [record] = found;
  if (record === undefined)
    throw new CliError(`No fork that runs is called ${id}`, ["`carryover forks` lists them."]);
  if (found.length > 1)
    throw new CliError(`${found.length} forks that run have the number ${id}`, [
      `Name one by its id: ${found.map((each) => each.id).join(", ")}`,
    ]);
  if (!isLive(currentRun(record))) throw new CliError(`Fork ${id} is over: ${currentRun(record).state}`, []);
  return [record];
}

function describe(record: ForkRecord, question: HeldQuestion): ListedFork {
  const run = currentRun(record);
  const isOwned = isHeld(record, question);
  const sinceMs = run.startedAtMs ?? run.queuedAtMs;
  const span = formatSpan((isLive(run) ? question.nowMs : run.endedAtMs) - sinceMs);
  const lost = "interrupted (its OpenCode is gone)";
  return {
    id: record.id,
    number: record.number,
    title: record.title,
    run: run.number,
    state: isLive(run) ? (isOwned ? `${run.state} for ${span}` : lost) : `${run.state} after ${span}`,
    isLive: isLive(run) && isOwned,
    calls: run.calls.total,
    costUSD: record.spent.costUSD,
    way: record.inherited.way,
    rootSessionId: record.rootSessionId,
    parentSessionId: record.parentSessionId,
    ...(record.childSessionId !== undefined && { childSessionId: record.childSessionId }),
    ...(isLive(run) ? {} : { delivery: run.delivery.state }),
  };
}

/** A fork as `--json` shows it. */
interface ListedFork {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly run: number;
  readonly state: string;
  readonly isLive: boolean;
  readonly calls: number;
  readonly costUSD: number;
  readonly way: string;
  readonly rootSessionId: string;
  readonly parentSessionId: string;
  readonly childSessionId?: string;
  readonly delivery?: string;
}

const MAX_TITLE_CHARS = 60;
const MAX_ANSWER_CHARS = 500;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
