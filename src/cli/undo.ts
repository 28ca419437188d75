import { Command } from "commander";
import { askPlugin } from "../plugin/stores/ask-plugin.ts";
import { type EditInForce, editsInForce, undoInJournal } from "../plugin/stores/edits-in-force.ts";
import { pluginJournal } from "../plugin/stores/journal.ts";
import type { PluginLog, PluginStores } from "../plugin/stores/plugin-stores.ts";
import { listLogs, STORE_OPTION, withStores } from "./opencode/with-stores.ts";
import { CliError } from "./terminal/cli-error.ts";
import { formatCount, terminalText } from "./terminal/output.ts";
import { printJson } from "./terminal/print-json.ts";

/** `carryover undo`: reverts the newest edit of the plugin in OpenCode or pi. */
export function undoCommand(): Command {
  return new Command("undo")
    .description("take back the newest edit or compaction of ours in OpenCode, or pruning in pi")
    .option("--session <id>", "the session; the one edited last when unset")
    .option("--json", "print for a program to read")
    .option(...STORE_OPTION)
    .addHelpText("after", EXAMPLES)
    .action(runUndo);
}

const EXAMPLES = `
Examples:
  carryover undo
  carryover undo --session ses_abc --json

In a database that machines share it is the newest edit of this home, or of the session that is named, wherever that runs.
Outputs that were cut as they came in are not edits: the model gets them back with the recall tool. A compaction that
Carryover made is one: from then on the model is shown everything again.
Exit codes: 0 taken back, 2 nothing to take back or nobody answered, 1 a fault of Carryover.`;

interface UndoFlags {
  readonly session?: string;
  readonly json?: true;
  readonly store?: string;
}

async function runUndo({ session, json, store }: UndoFlags): Promise<void> {
  const result = await withStores(store, ({ stores }) => undoIn(stores, session));
  if (json) printJson(result);
  else process.stdout.write(`${undoText(result)}\n`);
}

async function undoIn(stores: PluginStores, session: string | undefined) {
  const found = await newestEdit(stores, session);
  if (found === undefined)
    throw new CliError(
      session === undefined ? "No edit of ours is in force" : `No edit of ours is in force in ${session}`,
    );
  const { sessionId, id: batchId, step, edits, savedTokens: tokens } = found.undone;
  const asked = await askPlugin({ control: stores.control, want: { type: "undo", sessionId } });
  if (asked.status === "failed" || (asked.status === "answered" && asked.outcome !== "done"))
    throw new CliError(
      terminalText(asked.status === "failed" ? asked.reason : asked.text, MAX_ANSWER_CHARS),
      ["Try again."],
    );
  if (asked.status !== "answered") {
    const problem = await undoInJournal(stores.journal(found.rootSessionId), {
      undone: found.undone,
      atMs: Date.now(),
    });
    if (problem !== undefined) throw new CliError(`Cannot write the journal: ${problem}`);
  }
  return {
    sessionId,
    batchId,
    step,
    edits,
    tokens,
    where: asked.status === "answered" ? ("plugin" as const) : ("journal" as const),
  };
}

function undoText({ sessionId, step, edits, tokens, where }: Awaited<ReturnType<typeof undoIn>>): string {
  const when = where === "plugin" ? "from the next request on" : "when OpenCode opens the session again";
  const place = `${terminalText(sessionId, MAX_NAME_CHARS)}: ${terminalText(step, MAX_NAME_CHARS)}`;
  const what = formatCount(edits, step === "compaction" ? "message" : "edit");
  return `Taken back in ${place}, ${what}, about ${formatCount(tokens, "token")}. The model sees them ${when}.`;
}

const MAX_NAME_CHARS = 60;
const MAX_ANSWER_CHARS = 500;

interface NewestEdit {
  readonly rootSessionId: string;
  readonly undone: EditInForce;
}

async function newestEdit(
  stores: PluginStores,
  session: string | undefined,
): Promise<NewestEdit | undefined> {
  const logs = await listLogs(stores);
  let newest: NewestEdit | undefined;
  for (const { rootSessionId, writtenAtMs } of logsToSearch(logs, session)) {
    const foundAtMs = newest?.undone.atMs ?? 0;
    // A log that was last written to before the found edit holds no newer one.
    if (writtenAtMs + MAX_CLOCK_SKEW_MS < foundAtMs) break;
    const { entries } = pluginJournal(await stores.journal(rootSessionId).read());
    for (const undone of editsInForce(entries).filter(({ canBeTakenBack }) => canBeTakenBack))
      if ((session ?? undone.sessionId) === undone.sessionId && undone.atMs > (newest?.undone.atMs ?? 0))
        newest = { rootSessionId, undone };
    if (rootSessionId === session && newest !== undefined) break;
  }
  return newest;
}

/** Edits are dated by the machine that made them, logs by their store. */
const MAX_CLOCK_SKEW_MS = 3_600_000;

/** The named session's log first, then those of this home: a session of another machine must be named. */
function logsToSearch(logs: readonly PluginLog[], session: string | undefined): readonly PluginLog[] {
  const named = logs.filter(({ rootSessionId }) => rootSessionId === session);
  const here = logs.filter(
    ({ rootSessionId, writtenIn }) => writtenIn === "this-home" && rootSessionId !== session,
  );
  return [...named, ...here];
}
