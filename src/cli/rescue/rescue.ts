import { Command } from "commander";
import { tokenFamilyOf } from "../../models/token-family.ts";
import { pluginJournal } from "../../plugin/stores/journal.ts";
import { familyCost } from "../../text/tokens/estimate-tokens.ts";
import type { Transcript } from "../../transcript/message.ts";
import { modelsOf, withModelsOption } from "../files/read-models.ts";
import { charsForTokens, type Delivered, deliver, folderToGoOn, start } from "../handoff/deliver.ts";
import { STORE_OPTION, withStores } from "../opencode/with-stores.ts";
import {
  EmptySession,
  SESSION_ARGUMENT,
  type SessionFile,
  withSessionFile,
} from "../sessions/open-session.ts";
import { agentOf } from "../sessions/session-agents.ts";
import {
  MIN_BUDGET_TOKENS,
  parseTokenBudget,
  parseWindow,
  withContinueOptions,
} from "../terminal/arguments.ts";
import { CliError } from "../terminal/cli-error.ts";
import { printJson } from "../terminal/print-json.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { wrapped } from "../terminal/wrap.ts";
import { diagnose } from "./diagnose.ts";
import { foldOldest } from "./fold-oldest.ts";
import type { Finding } from "./lines/session-lines.ts";
import { staleThoughtsOfOpenCode } from "./lines/stale-thoughts.ts";
import { noticeOf } from "./notice.ts";
import { type ReadSession, readSession } from "./read-session.ts";
import { describeRescued, describeStates, reportOf, reportOfStates } from "./report.ts";
import type { Case, Rescued, RescueFlags } from "./rescued.ts";
import { rescueStates } from "./session-states.ts";

/** `carryover rescue`: a session that cannot go on becomes one that can. */
export function rescueCommand(): Command {
  const command = new Command("rescue")
    .description("find out why a session cannot go on, and write one beside it that can")
    .argument("[session]", `${SESSION_ARGUMENT}; without it the newest of this machine`)
    .option("--dry-run", "say what is wrong, and write nothing")
    .option("--force", "write a new session also where nothing is wrong")
    .option(
      "--budget <tokens>",
      "most tokens of the new session; by default half of the window",
      parseTokenBudget,
    )
    .option(
      "--window <tokens>",
      "the window of the model; by default what the session says, or what is known of the model",
      parseWindow,
    )
    .option(
      "--before-compaction",
      "bring back what stood before the newest compaction, whatever its summary says",
    )
    .option(...STORE_OPTION)
    .addHelpText("after", EXAMPLES)
    .action(runRescue);
  return withModelsOption(
    withContinueOptions(command, {
      secrets: "take secrets out, or keep them",
      cwd: "the folder in which it goes on",
      go: "start the agent at once",
    }),
  );
}

const EXAMPLES = `
Examples:
  carryover rescue                        the newest session of this machine
  carryover rescue session.jsonl --dry-run
  carryover rescue 0c3182b1-f294 --go     by its id, and starts the agent
  carryover rescue --before-compaction    a summary lost what mattered
  carryover rescue state.json             what session.toJSON() gave, beside its messages

A provider that binds thoughts refuses a session for good once something before them was changed ("Invalid \`signature\` in
\`thinking\` block"): rescue leaves those thoughts out. A state.json is { "state": …, "messages": […] }.

The original is never changed. What does not fit can be read again with carryover recall, and the new session says so.`;

async function runRescue(named: string | undefined, flags: RescueFlags): Promise<void> {
  const delivered = await withSessionFile(named, process.env, async (file) => {
    const states = await rescueStates(file, flags);
    if (states !== undefined) {
      if (flags.json) printJson(reportOfStates(file.name, states));
      else process.stdout.write(`${wrapped(describeStates(file.name, states), process.stdout)}\n`);
      return undefined;
    }
    const progress = createProgressLine();
    progress.show(`reading ${file.name}`);
    const rescued = await rescue(file, flags, process.env).finally(() => progress.end());
    if (flags.json) printJson(reportOf(rescued));
    else process.stdout.write(`${wrapped(describeRescued(rescued, flags), process.stdout)}\n`);
    return rescued.delivered;
  });
  if (delivered !== undefined && flags.go) await start(delivered);
}

/** Finds out what is wrong with a session, and writes one that can go on where something is, or where that is asked for. */
export async function rescue(
  file: SessionFile,
  flags: RescueFlags,
  env: NodeJS.ProcessEnv,
): Promise<Rescued> {
  const read = await readSession(file.path, flags.beforeCompaction ? "before-compaction" : "window");
  const session = { ...read, findings: [...read.findings, ...(await pluginFindings(read, flags))] };
  if (!session.transcript.some(({ parts }) => parts.length > 0))
    throw new EmptySession(`${file.name} has no message that could be read`);
  const diagnosis = diagnose(session, {
    windowTokens: flags.window,
    models: await modelsOf(flags),
    compaction: flags.beforeCompaction ? "undo" : "judge",
  });
  if (flags.beforeCompaction && !diagnosis.findings.some(({ problem }) => problem === "lost-compaction"))
    throw new CliError(`${file.name} has no compaction that could be taken back`, [
      "Leave --before-compaction out.",
    ]);
  const isBroken = diagnosis.findings.some(({ severity }) => severity === "broken");
  const isWanted = isBroken || flags.force === true || flags.budget !== undefined;
  const found = { file, session, diagnosis };
  const delivered = isWanted && !flags.dryRun ? await write(found, flags, env) : undefined;
  return { ...found, status: delivered ? "rescued" : isBroken ? "broken" : "healthy", delivered };
}

/** What the plugin's log of a session of OpenCode shows; nothing where it cannot be read. */
async function pluginFindings(
  { format, sessionId, transcript }: ReadSession,
  { store }: RescueFlags,
): Promise<readonly Finding[]> {
  if (!format.startsWith("opencode") || sessionId === undefined) return [];
  const read = withStores(store, ({ stores }) => stores.journal(sessionId).read());
  const content = await read.catch(() => undefined);
  if (content === undefined) return [];
  const { entries } = pluginJournal(content);
  return staleThoughtsOfOpenCode(
    transcript,
    entries.filter((entry) => entry.sessionId === sessionId),
  );
}

async function write(
  { file, session, diagnosis }: Case,
  flags: RescueFlags,
  env: NodeJS.ProcessEnv,
): Promise<Delivered> {
  const { format, cwd } = session;
  const agent = agentOf(format);
  if (agent === undefined)
    throw new CliError(`A session of ${format} cannot be written again`, [
      "Hand it to another agent: carryover handoff <file> --to claude-code.",
    ]);
  const { transcript } = diagnosis;
  const tokens = flags.budget ?? Math.max(MIN_BUDGET_TOKENS, diagnosis.budgetTokens);
  return deliver(transcript, {
    agent,
    cwd: flags.cwd ?? folderToGoOn(cwd),
    title: `Rescued ${session.sessionId ?? "session"}`,
    model: flags.model,
    env,
    options: {
      calls: "kept",
      secrets: flags.secrets === "out" ? "taken-out" : "kept",
      budgetChars: charsForTokens(transcript, Math.floor(tokens / scaleOf(transcript))),
      summarize: (messages, budgetChars) => foldOldest(messages, tokens, budgetChars),
      source: { format, path: file.name },
      notice: (facts) => noticeOf({ file, diagnosis }, facts, { flags, env }),
    },
  });
}

/** How many tokens the model of a session makes of what others make one of. */
function scaleOf(transcript: Transcript): number {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return model === undefined ? 1 : familyCost(tokenFamilyOf(model)).scale;
}
