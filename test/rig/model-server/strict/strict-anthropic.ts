import { asArray, asObject, asString, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import { isSealedText } from "../anthropic-wire.ts";

/** What Anthropic's Messages API says to a request that it does not take; undefined for one that it takes. */
export function findAnthropicRefusal(body: Readonly<Record<string, unknown>>): string | undefined {
  const messages = asArray(body.messages).map(readMessage);
  const first = findFirst(messages);
  if (first !== undefined) return first;
  const seen = new Set<unknown>();
  for (const [index, message] of messages.entries()) {
    const found =
      contentRefusal(message, index) ??
      pairRefusal(messages, index) ??
      message.blocks
        .map((block, place) => blockRefusal(block, `messages.${index}.content.${place}`))
        .find(Boolean) ??
      repeatedId(message, seen, index);
    if (found !== undefined) return found;
  }
  return thinkingRefusal(body, messages);
}

interface Message {
  readonly role: unknown;
  readonly blocks: readonly UnknownObject[];
}

function readMessage(value: unknown): Message {
  const { role, content } = asObject(value);
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : asArray(content).map(asObject);
  return { role, blocks };
}

function findFirst(messages: readonly Message[]): string | undefined {
  if (messages.length === 0) return "messages: at least one message is required";
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role';
  if (messages.at(-1)?.role === "assistant")
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  const twice = messages.find(({ role }, index) => role === messages[index - 1]?.role);
  if (twice !== undefined)
    return `messages: roles must alternate between "user" and "assistant", but found multiple "${String(twice.role)}" roles in a row`;
  return undefined;
}

function contentRefusal({ blocks }: Message, index: number): string | undefined {
  if (blocks.length === 0)
    return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
  const isBlank = blocks.some(({ type, text }) => type === "text" && String(text).trim() === "");
  return isBlank ? "messages: text content blocks must contain non-whitespace text" : undefined;
}

/** Results are in the next message, in front, one for each call; what the provider ran is answered in the same message. */
function pairRefusal(messages: readonly Message[], index: number): string | undefined {
  const { blocks } = messages[index] as Message;
  const ids = (type: string, field: string, among: readonly UnknownObject[] = blocks): readonly unknown[] =>
    among.filter((block) => block.type === type).map((block) => block[field]);
  const next = messages[index + 1]?.blocks ?? [];
  const leading = next.slice(0, next.findIndex(({ type }) => type !== "tool_result") >>> 0);
  const missing = ids("tool_use", "id").filter(
    (id) => !ids("tool_result", "tool_use_id", leading).includes(id),
  );
  if (missing.length > 0)
    return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  const called = ids("tool_use", "id", messages[index - 1]?.blocks ?? []);
  const results = ids("tool_result", "tool_use_id");
  const orphan = results.findIndex((id) => !called.includes(id));
  if (orphan !== -1)
    return `messages.${index}.content.${orphan}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(results[orphan])}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  if (new Set(results).size !== results.length)
    return `messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${String(results[0])}`;
  const searched = ids("web_search_tool_result", "tool_use_id");
  const open = ids("server_tool_use", "id").find((id) => !searched.includes(id));
  if (open !== undefined)
    return `messages.${index}: \`web_search\` tool use with id \`${String(open)}\` was found without a corresponding \`web_search_tool_result\` block`;
  const loose = searched.find((id) => !ids("server_tool_use", "id").includes(id));
  return loose === undefined
    ? undefined
    : `messages.${index}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${String(loose)}`;
}

function blockRefusal(block: UnknownObject, place: string): string | undefined {
  const { type, id, content, cache_control: mark } = block;
  if (type === "thinking" && mark !== undefined)
    return `${place}.thinking.cache_control: Extra inputs are not permitted`;
  if (type === "tool_use" && !/^[a-zA-Z0-9_-]{1,64}$/.test(String(id)))
    return `${place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
  const isForged = (entry: unknown): boolean =>
    !isSealedText(asString(asObject(entry).encrypted_content) ?? "");
  if (type === "web_search_tool_result" && asArray(content).some(isForged))
    return `${place}: Invalid \`encrypted_content\` in \`search_result\` block`;
  return undefined;
}

function repeatedId({ blocks }: Message, seen: Set<unknown>, index: number): string | undefined {
  for (const { type, id } of blocks) {
    if (type !== "tool_use" && type !== "server_tool_use") continue;
    if (seen.has(id)) return `messages.${index}: \`tool_use\` ids must be unique`;
    seen.add(id);
  }
  return undefined;
}

/** With thinking on, the turn whose tools were called starts with its thinking. */
function thinkingRefusal(
  { thinking }: Readonly<Record<string, unknown>>,
  messages: readonly Message[],
): string | undefined {
  const isOn = asObject(thinking).type === "enabled";
  const isLoopOpen = messages.at(-1)?.blocks.some(({ type }) => type === "tool_result") === true;
  const index = messages.length - 2;
  const first = messages[index]?.blocks[0];
  if (!isOn || !isLoopOpen || first?.type === "thinking" || first?.type === "redacted_thinking")
    return undefined;
  return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first?.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
}
