import { readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { Message, MessageError, MessageId, ModelRef, Usage } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { compact, type Fields, fields, numberField, stringField } from "../fields.ts";

/** The canonical message of an `info` object and its decoded parts. */
export function decodeInfo(info: Fields, id: MessageId, parts: readonly Part[]): Message {
  const role = stringField(info.role) ?? "unknown";
  const isAssistant = role === "assistant";
  return compact({
    id,
    role,
    parts,
    createdAt: numberField(fields(info.time).created),
    summary: isAssistant && info.summary === true ? (true as const) : undefined,
    finish: stringField(info.finish),
    // Token counts are there from the start of a message, `finish` from its end; the older shape has neither.
    unfinished:
      isAssistant && info.finish === undefined && info.tokens !== undefined ? (true as const) : undefined,
    error: decodeError(info.error),
    parentId: stringField(info.parentID),
    usage: decodeUsage(info.tokens),
    model: decodeModel(info),
    metadata: decodeMetadata(fields(info.metadata).carryover),
  });
}

function decodeError(error: unknown): MessageError | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, data, message } = fields(error);
  return {
    name: stringField(name) ?? "Error",
    text: stringField(fields(data).message) ?? stringField(message) ?? "",
  };
}

function decodeUsage(tokens: unknown): Usage | undefined {
  if (typeof tokens !== "object" || tokens === null) return undefined;
  const { total, input, output, reasoning, cache } = fields(tokens);
  const { read, write } = fields(cache);
  return compact({
    inputTokens: numberField(input) ?? 0,
    outputTokens: numberField(output) ?? 0,
    reasoningTokens: numberField(reasoning) ?? 0,
    cacheReadTokens: numberField(read) ?? 0,
    cacheWriteTokens: numberField(write) ?? 0,
    totalTokens: numberField(total),
  });
}

function decodeModel(info: Fields): ModelRef | undefined {
  const model = fields(info.model);
  const provider = stringField(info.providerID) ?? stringField(model.providerID);
  const id = stringField(info.modelID) ?? stringField(model.modelID);
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

function decodeMetadata(carryover: unknown): Message["metadata"] | undefined {
  const { agentVisible, userVisible, kind, carried } = fields(carryover);
  const metadata = compact({
    agentVisible: typeof agentVisible === "boolean" ? agentVisible : undefined,
    userVisible: typeof userVisible === "boolean" ? userVisible : undefined,
    kind: stringField(kind),
    carried: readCarriedFacts(carried),
  });
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}
