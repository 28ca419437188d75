import { Command } from "commander";
import type { PluginFolders } from "../opencode/plugin-folder.ts";
import { askPlugin } from "../opencode/window/ask-plugin.ts";
import { type BatchInForce, batchesInForce, undoInJournal } from "../opencode/window/batches-in-force.ts";
import { createControlStore } from "../opencode/window/control-store.ts";
import { listPluginJournals, readPluginJournal } from "../opencode/window/read-plugin-journal.ts";
import { CliError } from "./cli-error.ts";
import { findPluginFolders } from "./forks-store.ts";
import { refuseDatabase } from "./refuse-database.ts";

/** `carryover undo`: takes the newest edit of the OpenCode plugin back. */
export function undoCommand(): Command {
  return new Command("undo")
    .description("take back the newest edit that the OpenCode plugin made to a conversation")
    .option("--session <id>", "the session; the one edited last when unset")
    .option("--json", "print for a program to read")
    .option("--store <folder>", "the plugin's folder, if it is not the one of OpenCode's configuration here")
    .addHelpText("after", EXAMPLES)
    .action(runUndo);
}

const EXAMPLES = `
Examples:
  carryover undo
  carryover undo --session ses_abc --json

Outputs that were cut as they came in are not edits: the model gets them back with the recall tool.
Exit codes: 0 taken back, 2 nothing to take back or nobody answered, 1 a fault of Carryover.`;

interface UndoFlags {
  readonly session?: string;
  readonly json?: true;
  readonly store?: string;
}

async function runUndo({ session, json, store }: UndoFlags): Promise<void> {
  await refuseDatabase(store);
  const folders = await findPluginFolders(store);
  const found = await newestEdit(folders, session);
  if (found === undefined)
    throw new CliError(
      session === undefined ? "No edit of ours is in force" : `No edit of ours is in force in ${session}`,
      [],
    );
  const { sessionId, batch } = found.undone;
  const asked = await askPlugin({
    control: createControlStore(folders.control),
    want: { type: "undo", sessionId },
  });
  if (asked.status === "failed" || (asked.status === "answered" && asked.outcome !== "done"))
    throw new CliError(asked.status === "failed" ? asked.reason : asked.text, ["Try again."]);
  if (asked.status !== "answered") {
    const problem = await undoInJournal({ ...found, folder: folders.journal, atMs: Date.now() });
    if (problem !== undefined) throw new CliError(`Cannot write the journal: ${problem}`, []);
  }
  const where: UndoResult["where"] = asked.status === "answered" ? "plugin" : "journal";
  const result = {
    sessionId,
    batchId: batch.id,
    step: batch.step,
    edits: batch.edits.length,
    tokens: batch.tokensBefore - batch.tokensAfter,
    where,
  };
  process.stdout.write(`${json ? JSON.stringify(result, null, 2) : sentence(result)}\n`);
}

interface UndoResult {
  readonly sessionId: string;
  readonly step: string;
  readonly edits: number;
  readonly tokens: number;
  readonly where: "plugin" | "journal";
}

function sentence({ sessionId, step, edits, tokens, where }: UndoResult): string {
  const when = where === "plugin" ? "from the next request on" : "when OpenCode opens the session again";
  return `Taken back in ${sessionId}: ${step}, ${edits} edits, about ${tokens} tokens. The model sees them ${when}.`;
}

interface NewestEdit {
  readonly rootSessionId: string;
  readonly undone: BatchInForce;
}

async function newestEdit(
  { journal }: PluginFolders,
  session: string | undefined,
): Promise<NewestEdit | undefined> {
  let newest: NewestEdit | undefined;
  for (const rootSessionId of await listPluginJournals(journal)) {
    const { entries } = await readPluginJournal({ folder: journal, rootSessionId });
    const undone = batchesInForce(entries).findLast(
      ({ sessionId }) => session === undefined || sessionId === session,
    );
    if (undone !== undefined && undone.batch.at > (newest?.undone.batch.at ?? 0))
      newest = { rootSessionId, undone };
  }
  return newest;
}
