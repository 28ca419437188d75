import { timeOf } from "../formats/lines/line-format.ts";
import { safeJson } from "../text/json.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../text/unknown-value.ts";
import {
  createLineage,
  type RecordedChange,
  type RecordedPrompt,
  type RecordedRequest,
  type RequestRecorder,
} from "./recorded-request.ts";

/**
 * The requests of a Claude Code session. Each line of an answer repeats its usage, the last one in its final form. Newer
 * versions also record what they sent: `api-request` names its messages by hash, as a change of an earlier request.
 */
export function claudeCodeRequests(): RequestRecorder {
  const lineage = createLineage();
  const prompts = createPrompts();
  const answers = new Map<string, Answer>();
  const take = (value: unknown): void => {
    const line = asObject(value);
    prompts.take(line);
    const { message, type, uuid } = line;
    const { id, model, usage } = asObject(message);
    const isAnswer = type === "assistant" && usage !== undefined && model !== "<synthetic>";
    const key = isAnswer ? (asString(id) ?? asString(uuid) ?? `request-${answers.size + 1}`) : undefined;
    if (typeof uuid === "string")
      lineage.add(uuid, {
        parent: asString(line.parentUuid) ?? asString(line.logicalParentUuid),
        requestId: key,
        change: changeOf(line),
      });
    if (key === undefined) return;
    const known = answers.get(key);
    const { requestRef, timestamp, isSidechain, agentId } = line;
    const first = known?.first ?? { uuid, messageId: id, requestRef, timestamp, isSidechain, agentId };
    answers.set(key, { first, last: { model, usage } });
  };
  const requests = (): readonly RecordedRequest[] =>
    Array.from(answers, ([id, { first, last }]) => {
      const uuid = asString(first.uuid);
      const before = uuid === undefined ? undefined : lineage.before(uuid);
      const prompt = prompts.of(asString(first.requestRef));
      return {
        ...readAnswer(id, last),
        ...omitUndefined({
          messageId: asString(first.messageId) ?? uuid,
          atMs: prompt?.atMs ?? timeOf(first.timestamp),
          continues: before?.requestId,
          prompt: prompt?.prompt,
        }),
        thread:
          first.isSidechain === true
            ? (asString(first.agentId) ?? lineage.rootOf(uuid ?? "") ?? "agent")
            : "main",
        since: before?.changes ?? [],
      };
    });
  return { take, requests };
}

/** Of an answer what its first line says, and the counts of the newest; not the lines, which hold its texts. */
interface Answer {
  readonly first: UnknownObject;
  readonly last: UnknownObject;
}

function readAnswer(
  id: string,
  { model, usage }: UnknownObject,
): Pick<RecordedRequest, "id" | "model" | "usage" | "hourWriteTokens" | "billedOutputTokens"> {
  const counts = asObject(usage);
  const count = (name: string): number => asNumber(counts[name]) ?? 0;
  const name = asString(model);
  return {
    id,
    // The fast mode of a model has prices of its own.
    ...(name !== undefined && {
      model: { provider: "anthropic", id: counts.speed === "fast" ? `${name}-fast` : name },
    }),
    usage: {
      inputTokens: count("input_tokens"),
      outputTokens: count("output_tokens"),
      reasoningTokens: 0,
      cacheReadTokens: count("cache_read_input_tokens"),
      cacheWriteTokens: count("cache_creation_input_tokens"),
    },
    hourWriteTokens: asNumber(asObject(counts.cache_creation).ephemeral_1h_input_tokens) ?? 0,
    billedOutputTokens: count("output_tokens"),
  };
}

function changeOf({ type, subtype }: UnknownObject): RecordedChange | undefined {
  if (type !== "system") return undefined;
  if (subtype === "compact_boundary") return { type: "compaction", detail: "" };
  if (subtype === "microcompact_boundary")
    return { type: "message", detail: "Claude Code cleared old tool results" };
  return undefined;
}

/** Puts the recorded requests together again. */
function createPrompts() {
  const shapes = new Map<string, UnknownObject>();
  const blobs = new Map<string, unknown>();
  const sent = new Map<string, { readonly atMs: number | undefined; readonly prompt: RecordedPrompt }>();
  const textOf = (hash: string): string | undefined =>
    blobs.has(hash) ? safeJson(blobs.get(hash)) : undefined;
  return {
    take(line: UnknownObject): void {
      const hash = asString(line.hash) ?? "";
      if (line.type === "api-request-shape") shapes.set(asString(line.shapeHash) ?? "", asObject(line.shape));
      if (line.type === "api-request-blob") blobs.set(hash, line.message);
      if (line.type !== "api-request" || typeof line.id !== "string") return;
      const base = sent.get(asString(line.base) ?? "")?.prompt.messages ?? [];
      const { system, tools } = shapes.get(asString(line.shapeHash) ?? "") ?? {};
      const { model: _, max_tokens: __, ...settings } = asObject(line.params);
      sent.set(line.id, {
        atMs: timeOf(line.timestamp),
        prompt: {
          tools: asArray(tools),
          system: asArray(system),
          messages: [
            ...base.slice(0, asNumber(line.keep) ?? 0),
            ...asArray(line.tail).flatMap((each) => asString(each) ?? []),
          ],
          settings: safeJson(settings),
          textOf,
        },
      });
    },
    of: (id: string | undefined) => (id === undefined ? undefined : sent.get(id)),
  };
}
