import { Command } from "commander";
import { currentRun, type ForkRecord, isLive, workedMs } from "../fork/life/record.ts";
import { formatSpan } from "../fork/life/roster.ts";
import { askPlugin } from "../plugin/stores/ask-plugin.ts";
import type { PluginStores } from "../plugin/stores/plugin-stores.ts";
import { type HeldQuestion, isHeld } from "../plugin/stores/recorded-forks.ts";
import { groupBy } from "../text/group-by.ts";
import { redactSecrets } from "../text/secrets/redact-secrets.ts";
import { type OpenedStores, STORE_OPTION, withStores } from "./opencode/with-stores.ts";
import { CliError } from "./terminal/cli-error.ts";
import { formatCount, terminalText } from "./terminal/output.ts";
import { printJson } from "./terminal/print-json.ts";
import { renderTable } from "./terminal/table.ts";

/** `carryover forks`: lists the forks of all agents; in OpenCode and pi it stops one, and brings one to OpenCode's screen. */
export function forksCommand(): Command {
  return new Command("forks")
    .description("list the forks of your agents, stop one, or show one in OpenCode")
    .argument("[action]", "cancel or open")
    .argument("[id]", "which fork: its id, its number if only one that runs has it, or all to cancel")
    .option("--json", "print for a program to read")
    .option(...STORE_OPTION)
    .addHelpText("after", EXAMPLES)
    .action(runForks);
}

const EXAMPLES = `
Examples:
  carryover forks
  carryover forks --json | jq '.forks[] | select(.isLive)'
  carryover forks cancel 3
  carryover forks open 3      # goes to its session in the OpenCode that runs it

In a database that machines share, those of this home are listed, and what runs elsewhere; that is stopped by its id.
Exit codes: 0 listed, stopped or shown, 2 no such fork or nobody answered, 1 a fault of Carryover.`;

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
  if (action !== "cancel" && action !== "open")
    throw new CliError(`There is no "forks ${action}"`, ["Use: forks cancel <id>, or forks open <id>"]);
  if (id === undefined)
    throw new CliError("Which fork?", [`Use: forks ${action} <id>; \`carryover forks\` lists them.`]);
  return withStores(store, ({ stores }) => ask(stores, { action, id, json }));
}

async function list({ stores, name, place }: OpenedStores, json: true | undefined): Promise<void> {
  const { records, elsewhere, leases, problems } = await stores.recordedForks();
  for (const problem of problems) process.stderr.write(`warning: ${problem}\n`);
  const question = { leases, nowMs: stores.now() };
  const running = elsewhere.map((record) => describe(record, question)).filter(({ isLive }) => isLive);
  const forks = [...records.map((record) => describe(record, question)), ...running];
  if (json) return printJson({ store: name, forks });
  const rows = forks.map((fork) => [
    `#${fork.number}`,
    // Chosen by a model, or read from a shared database: may hold escape sequences.
    terminalText(fork.title, MAX_TITLE_CHARS),
    fork.state,
    formatCount(fork.calls, "call"),
    `$${fork.costUSD.toFixed(2)}`,
    fork.inherit,
    terminalText(fork.id, MAX_TITLE_CHARS),
  ]);
  const lines = renderTable(rows).split("\n");
  const bySession = groupBy([...forks.entries()], ([, { project, rootSessionId }]) =>
    terminalText(`${project ?? "a project that was not noted"}, session ${rootSessionId}`, MAX_PLACE_CHARS),
  );
  const blocks = Array.from(bySession, ([place, found]) =>
    [place, ...found.map(([index]) => lines[index] ?? "")].join("\n"),
  );
  process.stdout.write(`${blocks.join("\n") || `No forks are recorded in ${place}.`}\n`);
}

async function ask(stores: PluginStores, { action, id, json }: Asked): Promise<void> {
  const { records, elsewhere, leases } = await stores.recordedForks();
  const { control } = stores;
  const known = [...records, ...elsewhere.filter((record) => record.id === id)];
  const wanted = action === "open" ? [selectFork(known, id)] : selectForks(known, id);
  const answers: { readonly fork: string; readonly outcome: string; readonly text: string }[] = [];
  for (const record of wanted) {
    const { id: forkId } = record;
    const asked = await askPlugin({ control, want: { type: `${action}-fork`, forkId } });
    if (asked.status === "answered") {
      const isDone = asked.outcome === "done" || (action === "cancel" && asked.outcome === "nothing");
      if (!isDone) throw new CliError(terminalText(asked.text, MAX_ANSWER_CHARS));
      answers.push({ fork: forkId, outcome: asked.outcome, text: asked.text });
    } else if (asked.status === "failed")
      throw new CliError(`Fork ${forkId}: ${asked.reason}`, ["Try again."]);
    else if (isLive(currentRun(record)) && isHeld(record, { leases, nowMs: stores.now() }))
      // The servers of Claude Code and Codex look for no requests.
      throw new CliError(`Fork ${forkId} runs, and its agent takes no requests from here`, [
        "Ask the agent to stop it (it has the tool fork_cancel), or end the agent.",
      ]);
    else
      throw new CliError(`Fork ${forkId} does not run: its OpenCode has ended`, [
        "It counts as interrupted as soon as OpenCode starts again in its project, and can be resumed there.",
      ]);
  }
  if (json) return printJson({ answers });
  for (const { text } of answers) process.stdout.write(`${terminalText(text, MAX_ANSWER_CHARS)}\n`);
}

interface Asked {
  readonly action: "cancel" | "open";
  readonly id: string;
  readonly json: true | undefined;
}

/** The fork that an id or a number names, whether it runs or not; one that runs before others of its number. */
function selectFork(records: readonly ForkRecord[], id: string): ForkRecord {
  if (id === "all") throw new CliError("Only one fork can be shown", ["Use: forks open <id>"]);
  const exact = records.find((record) => record.id === id);
  const numbered = records.filter(({ number }) => `${number}` === id.replace(/^#/, ""));
  const live = numbered.filter((record) => isLive(currentRun(record)));
  const found = exact ? [exact] : live.length > 0 ? live : numbered;
  const [record] = found;
  if (record === undefined) throw new CliError(`No fork is called ${id}`, ["`carryover forks` lists them."]);
  if (found.length > 1)
    throw new CliError(`${found.length} forks have the number ${id}`, [
      `Name one by its id: ${found.map((each) => each.id).join(", ")}`,
    ]);
  return record;
}

/** The forks that an id, a number or `all` names; throws where a number is ambiguous. */
function selectForks(records: readonly ForkRecord[], id: string): readonly ForkRecord[] {
  const live = records.filter((record) => isLive(currentRun(record)));
  if (id === "all" && live.length > 0) return live;
  if (id === "all") throw new CliError("No fork runs");
  const exact = records.find((record) => record.id === id);
  const found = exact ? [exact] : live.filter(({ number }) => `${number}` === id.replace(/^#/, ""));
  const [record] = found;
  if (record === undefined)
    throw new CliError(`No fork that runs is called ${id}`, ["`carryover forks` lists them."]);
  if (found.length > 1)
    throw new CliError(`${found.length} forks that run have the number ${id}`, [
      `Name one by its id: ${found.map((each) => each.id).join(", ")}`,
    ]);
  if (!isLive(currentRun(record))) throw new CliError(`Fork ${id} is over: ${currentRun(record).state}`);
  return [record];
}

/** A fork as `--json` prints it. */
function describe(record: ForkRecord, question: HeldQuestion) {
  const run = currentRun(record);
  const isOwned = isHeld(record, question);
  const span = formatSpan(workedMs(run, question.nowMs));
  const lost = "interrupted (its program is gone)";
  return {
    id: record.id,
    number: record.number,
    title: record.title,
    run: run.number,
    state: isLive(run) ? (isOwned ? `${run.state} for ${span}` : lost) : `${run.state} after ${span}`,
    isLive: isLive(run) && isOwned,
    calls: run.calls.total,
    costUSD: record.spent.costUSD,
    inherit: record.inherited.mode,
    ...(record.project !== undefined && { project: record.project }),
    rootSessionId: record.rootSessionId,
    parentSessionId: record.parentSessionId,
    ...(record.childSessionId !== undefined && { childSessionId: record.childSessionId }),
    ...(isLive(run) ? {} : { delivery: run.delivery.state }),
    // Records of earlier versions may quote a key.
    ...(!isLive(run) && run.error && { error: redactSecrets(run.error.message) }),
  };
}

const MAX_TITLE_CHARS = 60;
const MAX_PLACE_CHARS = 300;
const MAX_ANSWER_CHARS = 500;
