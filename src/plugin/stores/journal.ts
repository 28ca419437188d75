import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JournalContent, JournalProblem } from "../../session/journal.ts";
import { readRecord, type SessionRecord } from "../../session/record.ts";
import type { StoredBindings } from "../../session/thoughts.ts";
import { createFileJournal } from "../../stores/files/journal.ts";
import { idOfPathName } from "../../stores/files/path-name.ts";
import { asNumber, asObject, asString, isObject, type UnknownObject } from "../../text/unknown-value.ts";
import { type CarriedPin, readPins } from "../../transcript/carried-facts.ts";
import type { RequestEntry } from "../host/host-parts.ts";
import type { PluginLog } from "./plugin-stores.ts";

/** The plugin's journal of one root session and its children, oldest entry first; unreadable entries are listed as problems. */
export async function readPluginJournal({
  folder,
  rootSessionId,
}: PluginJournalPlace): Promise<PluginJournal> {
  const journal = createFileJournal({ root: folder, session: rootSessionId, durable: false });
  return pluginJournal(await journal.read());
}

/** The entries of a journal that was read. */
export function pluginJournal({ entries, problems }: JournalContent): PluginJournal {
  return { entries: entries.map(({ value }) => readEntry(asObject(value))), problems };
}

interface PluginJournalPlace {
  /** The folder of all logs. */
  readonly folder: string;
  readonly rootSessionId: string;
}

interface PluginJournal {
  readonly entries: readonly PluginEntry[];
  readonly problems: readonly JournalProblem[];
}

/** One entry of the journal. */
export type PluginEntry = { readonly atMs: number; readonly sessionId: string } & (
  | RequestEntry
  | ToolOutputEntry
  | { readonly type: "engine"; readonly record: SessionRecord }
  | ForkEntry
  | { readonly type: "pins-kept"; readonly batches: readonly string[] }
  | ThoughtsEntry
  | CompactionEntry
  /** What the user had marked when the agent summed up. */
  | { readonly type: "pins"; readonly marked: readonly CarriedPin[] }
  /** The compaction of this handle was taken back. */
  | { readonly type: "compaction-undone"; readonly handle: string }
  /** A handler of a feature failed and had no effect. */
  | {
      readonly type: "hook-failed";
      readonly feature: string;
      readonly hook: string;
      readonly reason: string;
    }
  /** An entry of a newer or an older version. */
  | { readonly type: "other"; readonly name: string; readonly value: UnknownObject }
);

/** An output that was trimmed as it came in. */
interface ToolOutputEntry {
  readonly type: "tool-output";
  readonly tool: string;
  readonly callId: string;
  readonly handle?: string;
  readonly shownChars: number;
  readonly totalChars: number;
}

/** What the thoughts of the model are bound to, as far as it is new, and how many were left out of a request. */
interface ThoughtsEntry {
  readonly type: "thoughts";
  readonly bindings: StoredBindings;
  readonly leftOut: number;
  /** Names the system prompt and the tools of the request, where the agent shows them. */
  readonly head?: string;
}

/** A compaction that gave the agent a summary of ours. */
interface CompactionEntry {
  readonly type: "compaction";
  /** Under which everything before it is kept. */
  readonly handle: string;
  /** How many messages it summed up, and how many stay word for word. */
  readonly messages: number;
  readonly kept: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A fork changed its state. */
interface ForkEntry {
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

function readEntry(value: UnknownObject): PluginEntry {
  const type = asString(value.type) ?? "";
  const moment = { atMs: asNumber(value.atMs) ?? 0, sessionId: asString(value.sessionId) ?? "" };
  const known = READERS[type]?.(value);
  return known === undefined ? { ...moment, type: "other", name: type, value } : { ...moment, ...known };
}

type KnownEntry = Exclude<Untimed<PluginEntry>, { readonly type: "other" }>;
type Untimed<Entry> = Entry extends unknown ? Omit<Entry, "atMs" | "sessionId"> : never;

const READERS: Readonly<Record<string, (value: UnknownObject) => KnownEntry | undefined>> = {
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
  compaction: (value) => ({
    type: "compaction",
    handle: text(value.handle),
    messages: figure(value.messages),
    kept: figure(value.kept),
    tokensBefore: figure(value.tokensBefore),
    tokensAfter: figure(value.tokensAfter),
  }),
  thoughts: ({ bindings, leftOut, head }) =>
    isObject(bindings) && Array.isArray(bindings.bound)
      ? {
          type: "thoughts",
          bindings: bindings as unknown as StoredBindings,
          leftOut: figure(leftOut),
          ...(typeof head === "string" && { head }),
        }
      : undefined,
  pins: ({ marked }) => ({ type: "pins", marked: readPins(marked) }),
  "compaction-undone": ({ handle }) => ({ type: "compaction-undone", handle: text(handle) }),
  "pins-kept": ({ batches }) => ({
    type: "pins-kept",
    batches: Array.isArray(batches) ? batches.filter((id) => typeof id === "string") : [],
  }),
};

const text = (value: unknown): string => asString(value) ?? "";
const figure = (value: unknown): number => asNumber(value) ?? 0;
