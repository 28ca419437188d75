import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Fields, fields, numberField, stringField } from "../../../formats/fields.ts";
import type { JournalContent, JournalProblem } from "../../../session/journal.ts";
import { readRecord, type SessionRecord } from "../../../session/session-records.ts";
import { createFileJournal } from "../../../stores/files/file-journal.ts";
import { idOfPathName } from "../../../stores/files/path-name.ts";
import type { PluginLog } from "../plugin-stores.ts";
import type { RequestEntry } from "./request-entry.ts";

/** Everything that the plugin wrote down about one root session and its children, oldest first; what it cannot read is counted, never thrown. */
export async function readPluginJournal({
  folder,
  rootSessionId,
}: PluginJournalPlace): Promise<PluginJournal> {
  const journal = createFileJournal({ root: folder, session: rootSessionId, durable: false });
  return pluginJournal(await journal.read());
}

/** What the plugin wrote, of a log that was read. */
export function pluginJournal({ entries, problems }: JournalContent): PluginJournal {
  return { entries: entries.map(({ value }) => readEntry(fields(value))), problems };
}

export interface PluginJournalPlace {
  /** The folder of all logs. */
  readonly folder: string;
  readonly rootSessionId: string;
}

export interface PluginJournal {
  readonly entries: readonly PluginEntry[];
  readonly problems: readonly JournalProblem[];
}

/** One thing that happened. */
export type PluginEntry = { readonly atMs: number; readonly sessionId: string } & (
  | RequestEntry
  | ToolOutputEntry
  | { readonly type: "engine"; readonly record: SessionRecord }
  | ForkEntry
  | { readonly type: "pins-kept"; readonly batches: readonly string[] }
  /** A hook of ours failed and changed nothing. */
  | {
      readonly type: "hook-failed";
      readonly feature: string;
      readonly hook: string;
      readonly reason: string;
    }
  /** Something written by a newer version, or by an older one. */
  | { readonly type: "other"; readonly name: string; readonly value: Fields }
);

/** An output that was bounded as it came in. */
export interface ToolOutputEntry {
  readonly type: "tool-output";
  readonly tool: string;
  readonly callId: string;
  readonly handle?: string;
  readonly shownChars: number;
  readonly totalChars: number;
}

/** A fork that came into another state. */
export interface ForkEntry {
  readonly type: "fork";
  readonly fork: string;
  readonly number: number;
  readonly run: number;
  readonly state: string;
  readonly because: string;
  readonly child?: string;
}

/** The logs in a folder, the one written to last first. */
export async function listPluginJournals(folder: string): Promise<readonly PluginLog[]> {
  const newest = new Map<string, number>();
  for (const name of await readdir(folder).catch(() => [])) {
    const id = idOfPathName(SEGMENT.exec(name)?.[1] ?? "@");
    if (id === undefined) continue;
    const atMs = await stat(join(folder, name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    newest.set(id, Math.max(newest.get(id) ?? 0, atMs));
  }
  return [...newest]
    .sort(([, left], [, right]) => right - left)
    .map(([rootSessionId, writtenAtMs]) => ({ rootSessionId, writtenAtMs, writtenIn: "this-home" }));
}

const SEGMENT = /^(.+)\.\d+-\d+-\d+\.jsonl$/;

function readEntry(value: Fields): PluginEntry {
  const type = stringField(value.type) ?? "";
  const moment = { atMs: numberField(value.atMs) ?? 0, sessionId: stringField(value.sessionId) ?? "" };
  const known = READERS[type]?.(value);
  return known === undefined ? { ...moment, type: "other", name: type, value } : { ...moment, ...known };
}

type KnownEntry = Exclude<Untimed<PluginEntry>, { readonly type: "other" }>;
type Untimed<Entry> = Entry extends unknown ? Omit<Entry, "atMs" | "sessionId"> : never;

const READERS: Readonly<Record<string, (value: Fields) => KnownEntry | undefined>> = {
  request: (value) => ({
    type: "request",
    messageId: text(value.messageId),
    model: text(value.model),
    inputTokens: figure(value.inputTokens),
    outputTokens: figure(value.outputTokens),
    reasoningTokens: figure(value.reasoningTokens),
    cacheReadTokens: figure(value.cacheReadTokens),
    cacheWriteTokens: figure(value.cacheWriteTokens),
    costUSD: figure(value.costUSD),
    ...(value.summary === true && { summary: true }),
    ...(typeof value.error === "string" && { error: value.error }),
  }),
  "tool-output": (value) => ({
    type: "tool-output",
    tool: text(value.tool),
    callId: text(value.callId),
    shownChars: figure(value.shownChars),
    totalChars: figure(value.totalChars),
    ...(typeof value.handle === "string" && { handle: value.handle }),
  }),
  engine: ({ record }) => {
    const known = readRecord(record);
    return known && { type: "engine", record: known };
  },
  fork: (value) => ({
    type: "fork",
    fork: text(value.fork),
    number: figure(value.number),
    run: figure(value.run),
    state: text(value.state),
    because: text(value.because),
    ...(typeof value.child === "string" && { child: value.child }),
  }),
  "hook-failed": ({ feature, hook, reason }) => ({
    type: "hook-failed",
    feature: text(feature),
    hook: text(hook),
    reason: text(reason),
  }),
  "pins-kept": ({ batches }) => ({
    type: "pins-kept",
    batches: Array.isArray(batches) ? batches.filter((id) => typeof id === "string") : [],
  }),
};

const text = (value: unknown): string => stringField(value) ?? "";
const figure = (value: unknown): number => numberField(value) ?? 0;
