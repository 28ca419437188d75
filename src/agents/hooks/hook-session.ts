import { existsSync } from "node:fs";
import type { JournalRecord, PluginContext } from "../../plugin/context/context.ts";
import type { PluginOptions } from "../../plugin/context/options.ts";
import type { AgentHost } from "../../plugin/host/agent-host.ts";
import { openJournal, openOutputStore } from "../../plugin/stores/file-stores.ts";
import { type PluginFolders, pluginFolders } from "../../plugin/stores/folders.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import type { UnknownObject } from "../../text/unknown-value.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import { messageText, type Transcript } from "../../transcript/message.ts";
import { createChildNotes } from "../child-notes.ts";
import type { AgentPlace } from "../places.ts";
import type { HookAgent, HookWords } from "./hook-agent.ts";
import type { NotePlace, ReadNote } from "./summary-note.ts";

/** One moment of an agent, as a process of ours is told of it. */
export interface HookMoment {
  readonly agent: HookWords;
  /** Everything about the agent, where a session has to be read. */
  readonly loadAgent: () => Promise<HookAgent>;
  /** Which of several hooks of one moment this is, from 1. */
  readonly part: number;
  readonly env: AgentPlace["env"];
  readonly log: AgentHost["log"];
  /** What the note on a summary said, where it was waited for already. */
  readonly noted?: ReadNote | undefined;
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
export async function openOutputs(session: HookSession): Promise<OutputStore> {
  return inDatabase(session) ? (await session.loadContext()).outputs : openOutputStore(foldersOf(session));
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

/** Where the note on a summary of this session lies. */
export function notePlace(session: HookSession): NotePlace {
  return { folder: foldersOf(session).root, agent: session.agent.name, sessionId: session.sessionId };
}

export function textsOf(transcript: Transcript): string {
  return transcript.map(messageText).join("\n");
}
