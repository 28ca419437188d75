import type { MessageId, ModelRef, Usage } from "../transcript/message.ts";

/** One request of a model, as far as the file tells. */
export interface RecordedRequest {
  readonly id: string;
  /** The message that answered it. */
  readonly messageId?: MessageId;
  readonly atMs?: number;
  readonly model?: ModelRef;
  readonly usage: Usage;
  /** What was written to be kept for an hour, of all that was written to the cache. */
  readonly hourWriteTokens: number;
  /** What is charged as output: where reasoning is counted beside it, both. */
  readonly billedOutputTokens: number;
  /** What the agent itself says that it cost. */
  readonly costUSD?: number;
  /** Requests of one thread go on from each other: the conversation, or one of its sub-agents. */
  readonly thread: string;
  /** The request whose conversation it goes on with; the one before it in its thread when unset. */
  readonly continues?: string;
  /** What the file says was changed since that one. */
  readonly since: readonly RecordedChange[];
  readonly prompt?: RecordedPrompt;
}

/** Takes the lines of a session's file in order, keeps none of them, and gives the requests that they record. */
export interface RequestRecorder {
  take(line: unknown): void;
  requests(): readonly RecordedRequest[];
}

/** A change that makes the next prompt begin differently. */
export interface RecordedChange {
  readonly type: "compaction" | "message" | "system";
  readonly detail: string;
}

/** What was sent, where the agent records that. */
export interface RecordedPrompt {
  readonly tools: readonly unknown[];
  readonly system: readonly unknown[];
  /** A hash of each message. */
  readonly messages: readonly string[];
  /** Thinking, effort and the like: another value of one is another cache. */
  readonly settings: string;
  /** What a hash stands for; undefined for answers, which are recorded only once. */
  readonly textOf: (hash: string) => string | undefined;
}

/** Adds up the fields of several usages. */
export function sumUsage(usages: readonly Usage[]): Usage {
  const sum = (field: (usage: Usage) => number): number =>
    usages.reduce((total, usage) => total + field(usage), 0);
  return {
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    reasoningTokens: sum(({ reasoningTokens }) => reasoningTokens),
    cacheReadTokens: sum(({ cacheReadTokens }) => cacheReadTokens),
    cacheWriteTokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
  };
}

/** The whole prompt of a request. */
export function promptTokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

/** Which request each goes on from, in a file whose lines name their parents. */
export function createLineage(): Lineage {
  const nodes = new Map<string, LineageNode>();
  return {
    add: (id, node) => void nodes.set(id, node),
    before(id) {
      const start = nodes.get(id);
      const changes: RecordedChange[] = [];
      const seen = new Set<string>([id]);
      let at = start?.parent;
      while (at !== undefined && !seen.has(at)) {
        seen.add(at);
        const node = nodes.get(at);
        // What is not in the file may have been anything.
        if (node === undefined) return undefined;
        if (node.change !== undefined) changes.push(node.change);
        if (node.requestId !== undefined && node.requestId !== start?.requestId)
          return { requestId: node.requestId, changes };
        at = node.parent;
      }
      return { requestId: undefined, changes };
    },
    rootOf(id) {
      const seen = new Set<string>();
      let at = id;
      while (!seen.has(at)) {
        seen.add(at);
        const parent = nodes.get(at)?.parent;
        if (parent === undefined) return at;
        at = parent;
      }
      return undefined;
    },
  };
}

interface Lineage {
  add(id: string, node: LineageNode): void;
  /** The request that a line goes on from and what was changed since; undefined where the file does not say. */
  before(
    id: string,
  ): { readonly requestId: string | undefined; readonly changes: readonly RecordedChange[] } | undefined;
  /** The first line that a line goes back to. */
  rootOf(id: string): string | undefined;
}

interface LineageNode {
  readonly parent: string | undefined;
  readonly requestId: string | undefined;
  readonly change: RecordedChange | undefined;
}
