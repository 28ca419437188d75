import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import type { ForkError } from "../../fork/life/record.ts";
import type { HostSignal, SessionFacts } from "../../plugin/host/agent-host.ts";
import type { ModelFacts } from "../../plugin/host/models.ts";
import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../text/json.ts";
import type { HostEvent } from "./hooks.ts";

/** What an event of OpenCode means to the plugin; undefined for an event that it does not care about. */
export function readSignal({ type, properties }: HostEvent): HostSignal | undefined {
  const info = asObject(properties.info);
  switch (type) {
    case "session.created":
    case "session.updated": {
      const session = readSession(info);
      return session && { type: type === "session.created" ? "created" : "updated", session };
    }
    case "session.deleted": {
      const sessionId = asString(info.id) ?? asString(properties.sessionID);
      return sessionId === undefined ? undefined : { type: "deleted", sessionId };
    }
    case "message.updated":
      return readAnswer(info);
  }
  const sessionId = asString(properties.sessionID);
  if (sessionId === undefined) return undefined;
  switch (type) {
    case "session.idle":
      return { type: "idle", sessionId };
    case "session.status": {
      const status = asObject(properties.status).type;
      return status === "busy" || status === "retry" ? { type: status, sessionId } : undefined;
    }
    case "session.compacted":
      return { type: "compacted", sessionId };
    case "session.error": {
      const error = readError(properties.error);
      return error && { type: "failed", sessionId, error };
    }
    case "permission.asked": {
      const askId = asString(properties.id);
      const what = askText(properties);
      return askId === undefined ? undefined : { type: "permission-asked", sessionId, askId, what };
    }
    case "permission.replied": {
      const askId = asString(properties.requestID);
      return askId === undefined ? undefined : { type: "permission-answered", sessionId, askId };
    }
  }
  return undefined;
}

/** What is asked for: the kind, and the command or the path. */
function askText({ permission, patterns }: UnknownObject): string {
  const [pattern = ""] = Array.isArray(patterns) ? patterns.map(String) : [];
  const text = `${asString(permission) ?? "a tool"} ${pattern}`.replace(/\s+/g, " ").trim();
  return text.length <= MAX_ASK_CHARS ? text : `${text.slice(0, MAX_ASK_CHARS - 1)}…`;
}

const MAX_ASK_CHARS = 80;

/** A session as OpenCode describes it; undefined for anything else. */
export function readSession(info: UnknownObject): SessionFacts | undefined {
  const id = asString(info.id);
  if (id === undefined) return undefined;
  const time = asObject(info.time);
  const model = asObject(info.model);
  const provider = asString(model.providerID);
  const modelId = asString(model.id);
  return omitUndefined({
    id,
    parentId: asString(info.parentID),
    title: asString(info.title) ?? "",
    agent: asString(info.agent) ?? DEFAULT_AGENT,
    model: provider === undefined || modelId === undefined ? undefined : { provider, id: modelId },
    createdAtMs: asNumber(time.created),
    updatedAtMs: asNumber(time.updated),
    costUSD: asNumber(info.cost) ?? 0,
    tokens: tokensOf(info.tokens),
    revertedFrom: asString(asObject(info.revert).messageID),
    isArchived: asNumber(time.archived) === undefined ? undefined : (true as const),
    note: asObject(info.metadata).carryover,
  });
}

const DEFAULT_AGENT = "build";

function tokensOf(tokens: unknown): number {
  const { input, output, reasoning, cache } = asObject(tokens);
  const { read, write } = asObject(cache);
  return [input, output, reasoning, read, write].reduce<number>(
    (sum, value) => sum + (asNumber(value) ?? 0),
    0,
  );
}

/** An assistant message that is complete, as the request that it answers. */
function readAnswer(info: UnknownObject): HostSignal | undefined {
  const messageId = asString(info.id);
  const sessionId = asString(info.sessionID);
  const isComplete = asNumber(asObject(info.time).completed) !== undefined;
  if (info.role !== "assistant" || !isComplete || messageId === undefined || sessionId === undefined)
    return undefined;
  const tokens = asObject(info.tokens);
  const cache = asObject(tokens.cache);
  return {
    type: "answer",
    sessionId,
    isFinished: info.finish !== undefined,
    request: {
      type: "request",
      messageId,
      model: `${asString(info.providerID) ?? "?"}/${asString(info.modelID) ?? "?"}`,
      inputTokens: asNumber(tokens.input) ?? 0,
      outputTokens: asNumber(tokens.output) ?? 0,
      reasoningTokens: asNumber(tokens.reasoning) ?? 0,
      cacheReadTokens: asNumber(cache.read) ?? 0,
      cacheWriteTokens: asNumber(cache.write) ?? 0,
      costUSD: asNumber(info.cost) ?? 0,
      ...(info.summary === true && { summary: true }),
      ...(info.error !== undefined && { error: asString(asObject(info.error).name) ?? "error" }),
    },
  };
}

/** An error of OpenCode by the class of the provider's error. */
export function readError(error: unknown): ForkError | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, data } = asObject(error);
  if (name === "MessageAbortedError") return { kind: "aborted", message: "it was stopped" };
  const { message, responseHeaders } = asObject(data);
  const retryAfterS = Number(asObject(responseHeaders)["retry-after"]);
  return {
    kind: classifyProviderError(data ?? error).class,
    message: (asString(message) ?? asString(name) ?? "unknown error").slice(0, MAX_MESSAGE_CHARS),
    ...(retryAfterS > 0 ? { retryAfterMs: retryAfterS * 1_000 } : {}),
  };
}

const MAX_MESSAGE_CHARS = 1_000;

/** A model as OpenCode describes it to a hook or a tool. */
export function readModel(model: unknown): ModelFacts | undefined {
  const { id, providerID, limit, cost } = asObject(model);
  const modelId = asString(id);
  if (modelId === undefined) return undefined;
  const { context, input, output } = asObject(limit);
  const { read, write } = asObject(asObject(cost).cache);
  const inputPrice = asNumber(asObject(cost).input) ?? 0;
  return omitUndefined({
    provider: asString(providerID) ?? "",
    id: modelId,
    contextTokens: asNumber(context),
    inputTokens: asNumber(input),
    outputTokens: asNumber(output),
    prices:
      inputPrice > 0
        ? { input: inputPrice, cacheRead: asNumber(read) ?? 0, cacheWrite: asNumber(write) ?? 0 }
        : undefined,
  });
}
