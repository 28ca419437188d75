import { codexLine } from "../formats/files/codex/codex-line.ts";
import { timeOf } from "../formats/lines/line-format.ts";
import { type FormatName, type SessionFormatName, sessionFormatOf } from "../formats/registry.ts";
import { readTokens } from "../formats/wires/opencode/decode-messages.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../text/unknown-value.ts";
import type { ModelRef, Transcript, Usage } from "../transcript/message.ts";
import { claudeCodeRequests } from "./claude-code-requests.ts";
import {
  createLineage,
  promptTokensOf,
  type RecordedChange,
  type RecordedRequest,
  type RequestRecorder,
} from "./recorded-request.ts";

/**
 * Every request of the model that a session's file records, in order: also those of branches that were given up and of
 * sub-agents in the same file, since all of them were paid.
 */
export function readRequests(session: RecordedSession): readonly RecordedRequest[] {
  const { format, wire, transcript, requests } = session;
  if (requests !== undefined) return requests();
  const recorder = createRequestRecorder(format);
  if (recorder === undefined)
    return format === "opencode"
      ? openCodeRequests(asArray(asObject(wire).messages))
      : transcriptRequests(transcript);
  asArray(wire).forEach(recorder.take);
  return recorder.requests();
}

/** Records the requests of a file while its lines are read; undefined for a format that is no file of lines with counts of its own. */
export function createRequestRecorder(format: FormatName): RequestRecorder | undefined {
  return sessionFormatOf(format) && RECORDERS[format as SessionFormatName]?.();
}

/** A session as it was read, with all its lines. */
interface RecordedSession {
  readonly format: FormatName;
  readonly wire: unknown;
  readonly transcript: Transcript;
  /** Set where they were recorded while the lines were read, of which not all were kept. */
  readonly requests?: RequestRecorder["requests"];
}

/**
 * Codex counts after each answer, and repeats the count when nothing was asked since: the running total tells. Newer
 * rollouts have a record of each answer, and then the counts only repeat it.
 */
function codexRequests(): RequestRecorder {
  const [counts, records] = [codexRequestsBy("count"), codexRequestsBy("record")];
  let hasRecords = false;
  return {
    take(line) {
      hasRecords ||= asObject(line).type === "token_usage_record";
      counts.take(line);
      records.take(line);
    },
    requests: () => (hasRecords ? records : counts).requests(),
  };
}

function codexRequestsBy(what: "count" | "record"): RequestRecorder {
  const hasRecords = what === "record";
  const requests: RecordedRequest[] = [];
  let index = -1;
  let model: Partial<ModelRef> = {};
  let instructions: string | undefined;
  let total = "";
  let since: RecordedChange[] = [];
  let answer: string | undefined;
  /** The request before each turn, to go on from when turns are taken back. */
  let turns: (string | undefined)[] = [];
  let continues: string | undefined;
  const take = (line: unknown): void => {
    index++;
    const { type, payload, timestamp } = asObject(line);
    const read = codexLine(line);
    if (type === "session_meta") {
      const text = asString(asObject(asObject(payload).base_instructions).text);
      if (instructions !== undefined && text !== undefined && text !== instructions)
        since.push({ type: "system", detail: "the base instructions" });
      instructions = text ?? instructions;
    }
    if (read.type === "model")
      model = { ...model, ...omitUndefined({ id: read.model, provider: read.provider }) };
    if (read.type === "compacted") since.push({ type: "compaction", detail: "" });
    if (read.type === "rolled-back") continues = turns.splice(Math.max(0, turns.length - read.turns))[0];
    if (read.type === "item") {
      const { type: kind, role, id } = read.item;
      const isAnswer = kind === "message" ? role === "assistant" : !`${kind}`.endsWith("_output");
      if (!isAnswer) answer = undefined;
      else answer ??= asString(id) ?? asString(timestamp);
      if (role === "user") turns.push(requests.at(-1)?.id);
      if (turns.length > MAX_TURNS) turns = turns.slice(-MAX_TURNS);
    }
    if (read.type !== "usage" || read.isRecord !== hasRecords) return;
    const counted = JSON.stringify(asObject(asObject(payload).info).total_token_usage ?? index);
    if (!hasRecords && counted === total) return;
    total = counted;
    const usage = codexUsage(read.usage);
    const { id, provider = "openai" } = model;
    requests.push(
      omitUndefined({
        id: asString(asObject(payload).response_id) ?? `request-${index + 1}`,
        messageId: answer,
        atMs: timeOf(timestamp),
        model: id === undefined ? undefined : { provider, id },
        usage,
        hourWriteTokens: 0,
        billedOutputTokens: usage.outputTokens,
        thread: MAIN,
        continues,
        since,
      }),
    );
    [since, answer, continues] = [[], undefined, undefined];
  };
  return { take, requests: () => requests };
}

const MAIN = "main";
/** Nobody takes back more at once. */
const MAX_TURNS = 1_000;

/** Its input has in it what was read from the cache and written to it. */
function codexUsage(usage: UnknownObject): Usage {
  const count = (name: string): number => asNumber(usage[name]) ?? 0;
  const cacheReadTokens = count("cached_input_tokens");
  const cacheWriteTokens = count("cache_write_input_tokens");
  return {
    inputTokens: Math.max(0, count("input_tokens") - cacheReadTokens - cacheWriteTokens),
    outputTokens: count("output_tokens"),
    reasoningTokens: count("reasoning_output_tokens"),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

/** pi's entries are a tree; the oldest files have no ids, and there each goes on from the one before. */
function piRequests(): RequestRecorder {
  const lineage = createLineage();
  const requests: RecordedRequest[] = [];
  let since: RecordedChange[] = [];
  let index = -1;
  const take = (line: unknown): void => {
    index++;
    const { type, id, parentId, timestamp, message } = asObject(line);
    const change = piChange(asString(type) ?? "");
    const answer = asObject(message);
    const usage = asObject(answer.usage);
    const isRequest = type === "message" && answer.role === "assistant" && answer.usage !== undefined;
    const requestId = isRequest ? (asString(id) ?? `request-${index + 1}`) : undefined;
    if (typeof id === "string") lineage.add(id, { parent: asString(parentId), requestId, change });
    else if (change !== undefined) since.push(change);
    if (requestId === undefined) return;
    const count = (name: string): number => asNumber(usage[name]) ?? 0;
    const outputTokens = count("output");
    const modelId = asString(answer.model);
    const before = typeof id === "string" ? lineage.before(id) : undefined;
    requests.push(
      omitUndefined({
        id: requestId,
        messageId: requestId,
        atMs: asNumber(answer.timestamp) ?? timeOf(timestamp),
        model: modelId === undefined ? undefined : { provider: asString(answer.provider) ?? "", id: modelId },
        usage: {
          inputTokens: count("input"),
          outputTokens,
          reasoningTokens: count("reasoning"),
          cacheReadTokens: count("cacheRead"),
          cacheWriteTokens: count("cacheWrite"),
        },
        hourWriteTokens: 0,
        billedOutputTokens: outputTokens,
        costUSD: asNumber(asObject(usage.cost).total),
        thread: MAIN,
        continues: before?.requestId,
        since: [...since, ...(before?.changes ?? [])],
      }),
    );
    since = [];
  };
  return { take, requests: () => requests };
}

/** How requests are recorded from lines; unset where a session is one value, or has nothing but the usage of its messages. */
const RECORDERS: Readonly<Record<SessionFormatName, (() => RequestRecorder) | undefined>> = {
  "claude-code": claudeCodeRequests,
  codex: codexRequests,
  pi: piRequests,
  opencode: undefined,
  opencode2: undefined,
  "gemini-cli": undefined,
  "swe-agent": undefined,
};

function piChange(type: string): RecordedChange | undefined {
  if (type === "compaction") return { type, detail: "" };
  if (type === "context_edit") return { type: "message", detail: "an extension changed an earlier message" };
  if (type === "branch_summary")
    return { type: "message", detail: "the conversation went back to an earlier place" };
  return undefined;
}

/** OpenCode asks once for each answer. Another agent has another system prompt and other tools. */
function openCodeRequests(messages: readonly unknown[]): readonly RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  let since: RecordedChange[] = [];
  let agent: string | undefined;
  for (const message of messages) {
    const { info, parts } = asObject(message);
    const { id, role, tokens, time, modelID, providerID, cost, summary, mode, ...more } = asObject(info);
    if (asArray(parts).some((part) => asObject(part).type === "compaction"))
      since.push({ type: "compaction", detail: "" });
    const { totalTokens: _, ...usage } = readTokens(tokens);
    if (role !== "assistant" || promptTokensOf(usage) + usage.outputTokens === 0) continue;
    const isSummary = summary === true;
    const asked = asString(more.agent) ?? asString(mode);
    if (!isSummary && agent !== undefined && asked !== undefined && asked !== agent)
      since.push({ type: "system", detail: `the agent ${asked} in place of ${agent}` });
    const modelId = asString(modelID);
    requests.push(
      omitUndefined({
        id: asString(id) ?? `request-${requests.length + 1}`,
        messageId: asString(id),
        atMs: asNumber(asObject(time).created),
        model: modelId === undefined ? undefined : { provider: asString(providerID) ?? "", id: modelId },
        usage,
        hourWriteTokens: 0,
        billedOutputTokens: usage.outputTokens + usage.reasoningTokens,
        costUSD: asNumber(cost),
        // What writes the summary has a prompt of its own.
        thread: isSummary ? "summary" : MAIN,
        since: isSummary ? [] : since,
      }),
    );
    if (isSummary) continue;
    since = [];
    agent = asked ?? agent;
  }
  return requests;
}

/** Of a format without more to tell: what the messages of the conversation say. */
function transcriptRequests(transcript: Transcript): readonly RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  let since: RecordedChange[] = [];
  for (const { id, usage, model, createdAt, parts } of transcript) {
    if (parts.some(({ type }) => type === "compaction")) since.push({ type: "compaction", detail: "" });
    if (usage === undefined || promptTokensOf(usage) + usage.outputTokens === 0) continue;
    const { totalTokens = 0, ...counted } = usage;
    const isBeside = totalTokens === promptTokensOf(usage) + usage.outputTokens + usage.reasoningTokens;
    requests.push(
      omitUndefined({
        id,
        messageId: id,
        atMs: createdAt,
        model,
        usage: counted,
        hourWriteTokens: 0,
        billedOutputTokens: usage.outputTokens + (isBeside ? usage.reasoningTokens : 0),
        thread: MAIN,
        since,
      }),
    );
    since = [];
  }
  return requests;
}
