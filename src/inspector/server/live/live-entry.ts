import { currentRun, type ForkRecord, isLive } from "../../../fork/life/record.ts";
import type { PluginEntry } from "../../../plugin/stores/journal.ts";
import type { BatchRecord } from "../../../session/record.ts";
import type { UnknownObject } from "../../../text/json.ts";
import type { LiveBatch, LiveEntry, LiveFork, OmittedItem } from "../../view/protocol.ts";

/** An entry of the plugin's journal as the page shows it; undefined for entries that only the engine needs. */
export function liveEntry(entry: PluginEntry, redact: (text: string) => string): LiveEntry | undefined {
  const { atMs, sessionId } = entry;
  const moment = { atMs, sessionId };
  const note = (text: string): LiveEntry => ({ ...moment, type: "note", text });
  switch (entry.type) {
    case "request":
      return { ...entry, ...(entry.error !== undefined && { error: redact(entry.error) }) };
    case "tool-output":
      return entry;
    case "fork": {
      const { type, fork, number, state, because } = entry;
      return { ...moment, type, fork, number, state, because: redact(because) };
    }
    case "engine":
      return engineEntry(entry.record, moment);
    case "pins-kept":
      return note(`${entry.batches.length} edits taken back: they hid a pin`);
    case "compaction":
      return note(
        `compaction without a request: ${entry.messages} messages summed up, ${entry.kept} kept, ${entry.tokensBefore} → ${entry.tokensAfter} tokens`,
      );
    case "pins":
      return note(`${entry.marked.length} pins go through a compaction`);
    case "compaction-undone":
      return note("a compaction was taken back");
    case "hook-failed":
      return note(redact(`${entry.feature} failed in ${entry.hook}: ${entry.reason}`));
    case "other":
      return note(redact(describe(entry)));
    default:
      entry satisfies never;
      return undefined;
  }
}

function engineEntry(
  record: Extract<PluginEntry, { readonly type: "engine" }>["record"],
  moment: Pick<LiveEntry, "atMs" | "sessionId">,
): LiveEntry | undefined {
  switch (record.type) {
    case "batch":
      return { ...moment, ...batchEntry(record) };
    case "undo":
    case "drop":
      return { ...moment, type: "batch-gone", batchId: record.batchId, why: record.type };
    case "step":
    case "pending-summary":
    case "windows":
    // Only journals that keep no more than the state have these.
    case "delta":
    case "snapshot":
      return undefined;
    default:
      record satisfies never;
      return undefined;
  }
}

function batchEntry(batch: BatchRecord): LiveBatch {
  const { id: batchId, step, reason, at: atMs, tokensBefore, tokensAfter, edits } = batch;
  const left = edits.flatMap(({ edit, savedTokens, handle }): OmittedItem[] => {
    // The other edits insert or move.
    if (edit.type !== "hide-message" && edit.type !== "hide-part" && edit.type !== "replace-part") return [];
    const { messageId, stage, reason: why } = edit;
    return [{ batchId, atMs, messageId, stage, reason: why, savedTokens, handle }];
  });
  return { type: "batch", batchId, step, reason, tokensBefore, tokensAfter, left };
}

function describe({ name, value }: Extract<PluginEntry, { readonly type: "other" }>): string {
  const { atMs: _, sessionId: __, type: ___, ...rest } = value;
  const said = SENTENCES[name]?.(rest) ?? `${name} ${JSON.stringify(rest)}`;
  return said.slice(0, MAX_NOTE_CHARS);
}

const SENTENCES: Readonly<Record<string, (value: UnknownObject) => string>> = {
  "prefix-miss": ({ readTokens, parentTokens }) =>
    `a fork read ${readTokens} of its parent's ${parentTokens} tokens from the cache`,
  "fork-context-lost": ({ reason }) => `a fork runs without what it inherited: ${reason}`,
  shadow: ({ chars, path, handle }) =>
    `a shadow of a compaction was kept, ${chars} characters: ${path ?? handle}`,
  "put-back": ({ chars }) => `${chars} characters were put back after a compaction`,
  "compaction-assist": ({ chars }) => `${chars} characters of facts went into a compaction`,
};

const MAX_NOTE_CHARS = 300;

/** A fork's record, and whether the program that runs it still holds its lease. */
export interface FollowedFork {
  readonly record: ForkRecord;
  readonly isHeld: boolean;
}

/** A fork as the page shows it. One whose program is gone counts as interrupted, whatever its record still says. */
export function liveFork({ record, isHeld }: FollowedFork, redact: (text: string) => string): LiveFork {
  const run = currentRun(record);
  const { id, number, title, inherited, spent } = record;
  return {
    id,
    number,
    title: redact(title),
    state: isLive(run) && !isHeld ? "interrupted" : run.state,
    isLive: isLive(run) && isHeld,
    way: inherited.way,
    calls: run.calls.total,
    tokens: spent.tokens,
    costUSD: spent.costUSD,
    ...(!isLive(run) && run.error && { error: redact(`${run.error.kind}: ${run.error.message}`) }),
  };
}
