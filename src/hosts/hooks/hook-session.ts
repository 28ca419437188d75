import { existsSync, mkdirSync, readFile, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { JournalRecord, PluginContext } from "../../plugin/context/context.ts";
import { type PluginOptions, readPluginOptions } from "../../plugin/context/options.ts";
import type { AgentHost } from "../../plugin/host/agent-host.ts";
import {
  optionsFile,
  type PluginFolders,
  PUT_BACK_FILE,
  pluginFolders,
} from "../../plugin/stores/folders.ts";
import { openJournal, openSpills } from "../../plugin/stores/open-stores.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { asNumber, asObject, jsonOrText, type UnknownObject } from "../../text/json.ts";
import { errorMessage } from "../../text/truncate.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import { type Transcript, textOf } from "../../transcript/message.ts";
import { createChildNotes } from "../child-notes.ts";
import type { AgentPlace, HookAgent, HookWords } from "./hook-agent.ts";

/** One moment of an agent, as a process of ours is told of it. */
export interface HookMoment {
  readonly agent: HookWords;
  /** Everything about the agent, where a session has to be read. */
  readonly loadAgent: () => Promise<HookAgent>;
  /** Which of several hooks of one moment this is, from 1. */
  readonly part: number;
  readonly env: AgentPlace["env"];
  readonly log: AgentHost["log"];
  /** Answers a moment of our own in a process for which the agent does not wait; here and now when unset. */
  readonly leaveToAnother?: (payload: UnknownObject) => Promise<void>;
}

/** The session in which the moment is. */
export interface HookSession extends HookMoment {
  readonly payload: UnknownObject;
  readonly options: PluginOptions;
  readonly sessionId: string;
  readonly directory: string;
  /** The file of the session. */
  readonly file: string | undefined;
  /** The whole plugin, which takes longer than anything else here. */
  readonly loadContext: () => Promise<PluginContext>;
}

/** Where the plugin keeps its files for this session. */
export function foldersOf(session: HookSession): PluginFolders {
  const { options, env } = session;
  return pluginFolders({ store: inDatabase(session) ? undefined : options.store, env });
}

export function inDatabase({ options: { store } }: Pick<HookSession, "options">): boolean {
  return store !== undefined && isDatabase(store);
}

/** The outputs that are kept whole. */
export async function openOutputs(session: HookSession): Promise<SpillStore> {
  return inDatabase(session) ? (await session.loadContext()).spills : openSpills(foldersOf(session));
}

/** Writes to the log of the session. Returns at once; the process ends when it is written. */
export function record(session: HookSession, entry: JournalRecord): void {
  const { sessionId, log } = session;
  const atMs = Date.now();
  const write = async (): Promise<void> => {
    if (inDatabase(session)) return (await session.loadContext()).record(sessionId, entry);
    const journal = openJournal(foldersOf(session), { session: await rootOf(session), usedBy: "hook" });
    const written = await journal.append({ atMs, sessionId, ...entry });
    if (written.status === "failed") log("warn", `journal not written: ${written.code}`);
  };
  write().catch((cause: unknown) =>
    log("error", "journal not written", { type: entry.type, cause: String(cause) }),
  );
}

/** The session under whose name the log of this one is kept. */
async function rootOf(session: HookSession): Promise<string> {
  const { agent, sessionId, directory } = session;
  const { forks } = foldersOf(session);
  if (!existsSync(forks)) return sessionId;
  const child = await createChildNotes({ agent: agent.name, forks, directory }).of(sessionId);
  return child?.rootSessionId ?? sessionId;
}

/** What a hook before a summary leaves to those behind it, of which several run at once. */
export interface SummaryNote {
  /** How long the session was. */
  readonly bytes: number;
  /** The texts of the user; unset as long as it is not worked out. */
  readonly words?: readonly string[];
  /** What is put back where none of them is still sent, and where all are. */
  readonly all?: readonly string[];
  readonly others?: readonly string[];
  /** What is put back where nothing was prepared: worked out by the first of several hooks for all of them. */
  readonly pieces?: readonly string[];
}

export function writeNote(session: HookSession, note: SummaryNote): void {
  const file = noteFile(session);
  const fresh = `${file}.${process.pid}`;
  const text = JSON.stringify({ of: ownerOf(session), atMs: Date.now(), ...note });
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, file);
  } catch {
    // Without it each of them works by itself.
  }
}

/** The note of this session, once it is ready; undefined where there is none, unless it `mayCome`, or none in time. */
export async function waitForNote(
  session: HookSession,
  wanted: WantedNote,
): Promise<SummaryNote | undefined> {
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += PAUSE_MS) {
    const text = await promisify(readFile)(noteFile(session), "utf8").catch(() => "");
    const note = asObject(jsonOrText(text));
    const ageMs = Date.now() - (asNumber(note.atMs) ?? 0);
    const isOwn = note.of === ownerOf(session) && ageMs <= MAX_AGE_MS;
    if (!isOwn && !wanted.mayCome) return undefined;
    if (isOwn && wanted.isReady(note as unknown as SummaryNote)) return note as unknown as SummaryNote;
    await sleep(PAUSE_MS);
  }
  return undefined;
}

interface WantedNote {
  readonly isReady: (note: SummaryNote) => boolean;
  readonly mayCome: boolean;
}

const MAX_AGE_MS = 3_600_000;
const MAX_WAIT_MS = 3_000;
const PAUSE_MS = 10;

function noteFile(session: HookSession): string {
  return join(foldersOf(session).root, PUT_BACK_FILE);
}

function ownerOf({ agent, sessionId }: HookSession): string {
  return `${agent.name} ${sessionId}`;
}

export function textsOf(transcript: Transcript): string {
  return transcript.map(textOf).join("\n");
}

/** In bytes; a file that is not there has none. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** The options, or why none can be used; then nothing is done. */
export async function readHookOptions(env: AgentPlace["env"]): Promise<HookOptions> {
  const { options, problems } = readPluginOptions(await readOptionsFile(env));
  if (problems.length === 0) return { options };
  return {
    options,
    problem: `Nothing is done until ${optionsFile(env)} is corrected: ${problems.join("; ")}`,
  };
}

/** What the file of options holds; undefined where there is none, and a sentence where it is no JSON. */
export async function readOptionsFile(env: AgentPlace["env"]): Promise<unknown> {
  const file = optionsFile(env);
  const text = await promisify(readFile)(file, "utf8").catch(() => undefined);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    return `${file} is no JSON: ${errorMessage(error)}`;
  }
}

interface HookOptions {
  readonly options: PluginOptions;
  readonly problem?: string;
}
