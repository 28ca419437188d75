import type { SessionFacts } from "../../plugin/host/agent-host.ts";
import type { ModelFacts } from "../../plugin/host/host-parts.ts";
import { clipLine } from "../../text/clip.ts";
import { textOrJson } from "../../text/json.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../text/unknown-value.ts";
import type { Usage } from "../../transcript/message.ts";

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

/** The agent of a session that names none. */
export const DEFAULT_AGENT = "build";

/** All tokens of an answer, or of all answers of a session. */
export function tokensOf(tokens: unknown): number {
  const { input, output, reasoning, cache } = asObject(tokens);
  const { read, write } = asObject(cache);
  return [input, output, reasoning, read, write].reduce<number>(
    (sum, value) => sum + (asNumber(value) ?? 0),
    0,
  );
}

/** The counts that are journalled of a request. */
export function requestTokens({ totalTokens: _, ...counts }: Usage): Omit<Usage, "totalTokens"> {
  return counts;
}

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

/** What is asked for: the kind, and the command or the path. */
export function askText(kind: unknown, about: unknown): string {
  const [first = ""] = asArray(about).map(textOrJson);
  return clipLine(`${asString(kind) ?? "a tool"} ${first}`, MAX_ASK_CHARS);
}

const MAX_ASK_CHARS = 80;
