import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SECRETS_RULE } from "../../compaction/summary/request.ts";
import { openOutputStore } from "../../plugin/stores/file-stores.ts";
import { CLEANED_FILE } from "../../plugin/stores/folders.ts";
import { summaryInstructions } from "../../plugin/window/restore-after-compaction.ts";
import { createToolOutputTrimming, type TrimmingContext } from "../../plugin/window/trim-output.ts";
import { asString, type UnknownObject } from "../../text/unknown-value.ts";
import { sizeOf } from "../files/file-end.ts";
import { waitingForks } from "../files/process-notes.ts";
import { OWN_TOOL, readLines } from "../files/session-lines.ts";
import { readHookOptions } from "../options-file.ts";
import { type HookOutput, REPORT_COMMAND } from "./hook-agent.ts";
import {
  foldersOf,
  type HookMoment,
  type HookSession,
  inDatabase,
  notePlace,
  record,
  textsOf,
} from "./hook-session.ts";
import { type SummaryNote, waitForNote, writeNote } from "./summary-note.ts";

/**
 * What one hook answers, if anything. A finished output is trimmed: both ends stay, the whole goes under a handle.
 * Before the agent sums up, its request is told what it must keep, and a readable backup summary of the window is kept. After
 * it, the user's own words, pins, files and open work are restored, in as many hooks as the agent needs for them.
 *
 * An agent waits for each: what needs the whole session or the whole plugin is loaded only then.
 */
export async function answerHook(payload: UnknownObject, moment: HookMoment): Promise<string | undefined> {
  const { agent, env, log } = moment;
  const { options, problem } = await readHookOptions(env);
  if (problem !== undefined) {
    log("error", problem);
    return undefined;
  }
  const hook = {
    ...moment,
    payload,
    options,
    directory: asString(payload.cwd) ?? process.cwd(),
    sessionId: asString(payload.session_id) ?? "unknown",
    file: asString(payload.transcript_path),
  };
  const session: HookSession = { ...hook, loadContext: async () => (await loadForks()).openContext(hook) };
  const isHelped = options.compaction !== "off" && options.profile !== "documented";
  switch (payload.hook_event_name) {
    case "PostToolUse":
      // An output that is trimmed says so alone; results of forks come with the next one.
      return (await trimOutput(session)) ?? deliverResults(session);
    case "UserPromptSubmit":
      return (await askedReport(session)) ?? deliverResults(session);
    case "PreCompact":
      if (isHelped) return beforeSummary(session);
      // The documented profile helps with the rule of document 003 alone.
      return options.compaction === "off" ? undefined : agent.instructSummary?.(SECRETS_RULE);
    case "SessionStart":
      return isHelped && payload.source === "compact" ? afterSummary(session) : undefined;
    case DURING_SUMMARY:
      if (isHelped) await (await loadWhole()).prepareSummary(session);
      return undefined;
    case CLEANING:
      await (await loadWhole()).cleanUp(session);
      return undefined;
    default:
      return undefined;
  }
}

/** Moments of our own. */
const DURING_SUMMARY = "DuringCompact";
const CLEANING = "Cleaning";

const loadWhole = () => import("./whole-session.ts");
const loadForks = () => import("./deliver-results.ts");

/** Brings the results of forks that wait for this session. */
async function deliverResults(session: HookSession): Promise<string | undefined> {
  if (waitingForks(session.env, session.sessionId).length === 0) return undefined;
  return (await loadForks()).deliverResults(session);
}

/** What a command of ours asks for. In its own text the agent would put it back after every compaction. */
async function askedReport(session: HookSession): Promise<string | undefined> {
  const { agent, payload, sessionId, directory, env, loadAgent } = session;
  const [, what] = REPORT_COMMAND.exec(asString(payload.prompt) ?? "") ?? [];
  if (what === undefined) return undefined;
  const { reportOf } = await import("../files/report.ts");
  const report = await reportOf(await loadAgent(), { what, sessionId, directory, env });
  const text = `[Report of Carryover]\n${report}`.slice(0, agent.context.maxChars);
  return agent.addContext("UserPromptSubmit", text);
}

async function trimOutput(session: HookSession): Promise<string | undefined> {
  const { agent, payload, sessionId } = session;
  const output = agent.readOutput(payload);
  // Our own tools are trimmed where they answer.
  if (output === undefined || OWN_TOOL.test(output.tool)) return undefined;
  const { replace, ...finished } = output;
  const context = inDatabase(session) ? await session.loadContext() : trimmingContext(session, output);
  const change = await createToolOutputTrimming(context).afterTool?.({ ...finished, sessionId });
  if (change?.type !== "replace") return undefined;
  leaveCleaning(session);
  return replace(change.text);
}

/** What trimming needs of the plugin, and nothing else of it. */
function trimmingContext(session: HookSession, { path }: HookOutput): TrimmingContext {
  const { options, leaveToAnother, loadContext, log } = session;
  return {
    options,
    outputs: openOutputStore(foldersOf(session), {
      // What lies in the agent's own file too need not be waited for until it is on the disk.
      durable: path === undefined,
      cleaning: leaveToAnother === undefined ? "hourly" : "never",
    }),
    host: { sessions: { hasTool: async (_, tool) => tool === "recall" } },
    notify: {
      log(...line) {
        // Nothing is logged that was not cleaned of secrets.
        loadContext()
          .then(({ notify }) => notify.log(...line))
          .catch((cause: unknown) => log("error", "a line for the log was lost", { cause: String(cause) }));
      },
      toastOnce: () => {},
    },
    now: Date.now,
    show: () => {},
    record: (_, entry) => record(session, entry),
  };
}

/** Looking through everything that is kept is left to another process, once an hour. */
function leaveCleaning(session: HookSession): void {
  const { leaveToAnother, payload } = session;
  if (leaveToAnother === undefined || inDatabase(session)) return;
  const mark = join(foldersOf(session).root, CLEANED_FILE);
  try {
    const ageMs = Date.now() - (statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (Math.abs(ageMs) < CLEANING_INTERVAL_MS) return;
    writeFileSync(mark, "", { mode: 0o600 });
    void leaveToAnother({ ...payload, tool_response: undefined, hook_event_name: CLEANING });
  } catch {
    // Tried again by the next.
  }
}

const CLEANING_INTERVAL_MS = 3_600_000;

/**
 * The agent waits for the instructions only. A backup summary, and what will be restored, are made by another process in the time that
 * the agent's own summary takes.
 */
async function beforeSummary(session: HookSession): Promise<string | undefined> {
  const { agent, payload, file, leaveToAnother, log } = session;
  // Lines that the summary itself adds meanwhile are not part of what it is about.
  const bytes = file === undefined ? 0 : sizeOf(file);
  const moment = { ...payload, hook_event_name: DURING_SUMMARY, session_bytes: bytes };
  writeNote(notePlace(session), { bytes });
  if (leaveToAnother !== undefined) await leaveToAnother(moment);
  // The instructions do not depend on it.
  else
    await loadWhole()
      .then(({ prepareSummary }) => prepareSummary({ ...session, payload: moment }))
      .catch((cause: unknown) => log("warn", "no backup summary of a compaction", { cause: String(cause) }));
  return agent.instructSummary?.(summaryInstructions());
}

async function afterSummary(session: HookSession): Promise<string | undefined> {
  const { agent, part, file } = session;
  if (file === undefined) return undefined;
  const noted = session.noted ?? (await waitForNote(notePlace(session), { part, file }));
  const pieces = noted.pieces ?? (await workOut(session, { file, note: noted.note }));
  const chars = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (part === 1 && chars > 0) record(session, { type: "restored", chars });
  const piece = pieces[part - 1];
  return piece === undefined ? undefined : agent.addContext("SessionStart", piece);
}

/** What is restored where no note says it; the first of several hooks writes it down for the others. */
async function workOut(session: HookSession, { file, note }: LeftToRead): Promise<readonly string[]> {
  const bytes = sizeOf(file);
  let pieces: readonly string[] = [];
  try {
    pieces =
      (note && (await preparedPieces(session, { file, note }))) ??
      (await (await loadWhole()).workedOutPieces(session));
    return pieces;
  } finally {
    // Also where it failed, so that other hooks do not wait for it.
    if (session.part === 1) writeNote(notePlace(session), { bytes, pieces });
  }
}

interface LeftToRead {
  readonly file: string;
  readonly note: SummaryNote | undefined;
}

/** What was prepared while the agent summed up, if it fits what the agent still sends of the user's words: all, or nothing. */
async function preparedPieces(
  { loadAgent }: HookSession,
  { file, note }: LeftToRead,
): Promise<readonly string[] | undefined> {
  if (note?.words === undefined || sizeOf(file) < note.bytes) return undefined;
  const lines = await readLines(file, { start: note.bytes });
  const { format, windowOf } = await loadAgent();
  const held = textsOf(format.decode(windowOf(lines)));
  const count = note.words.filter((text) => held.includes(text)).length;
  if (count === 0) return note.all;
  return count === note.words.length ? note.others : undefined;
}
