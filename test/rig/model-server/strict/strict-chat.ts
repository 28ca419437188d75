import { asArray, asObject, type UnknownObject } from "../../../../src/text/unknown-value.ts";

/** What OpenAI's chat completions, and servers whose chat template is strict, say to messages that they do not take. */
export function findChatRefusal(body: Readonly<Record<string, unknown>>): string | undefined {
  const messages = asArray(body.messages).map(asObject);
  return pairRefusal(messages) ?? contentRefusal(messages) ?? templateRefusal(messages);
}

function pairRefusal(messages: readonly UnknownObject[]): string | undefined {
  const seen = new Set<unknown>();
  let open: unknown[] = [];
  for (const { role, tool_calls: calls, tool_call_id: answered } of [
    ...messages,
    { role: "end" } as UnknownObject,
  ]) {
    if (role === "tool") {
      if (!open.includes(answered))
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      open = open.filter((id) => id !== answered);
      continue;
    }
    if (open.length > 0)
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`;
    open = asArray(calls).map((call) => asObject(call).id);
    const twice = open.find((id) => seen.has(id));
    if (twice !== undefined) return `Duplicate value for 'tool_call_id' of '${String(twice)}' in message`;
    for (const id of open) seen.add(id);
    const long = open.find((id) => String(id).length > 40);
    if (long !== undefined)
      return `Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length ${String(long).length} instead.`;
  }
  return undefined;
}

function contentRefusal(messages: readonly UnknownObject[]): string | undefined {
  if (messages.length === 0)
    return "Invalid 'messages': empty array. Expected an array with minimum length 1.";
  for (const [index, { role, content, tool_calls: calls }] of messages.entries()) {
    const isEmpty =
      content === null || content === undefined || (Array.isArray(content) && content.length === 0);
    if (isEmpty && (role !== "assistant" || calls === undefined))
      return `Invalid value for 'content': expected a string, got null. (messages.[${index}].content)`;
    if (asArray(calls).some((call) => !isJson(asObject(asObject(call).function).arguments)))
      return `Invalid 'messages[${index}].tool_calls[0].function.arguments': not valid JSON`;
  }
  return undefined;
}

/** As the templates of Mistral and Gemma raise it, through vLLM and others. */
function templateRefusal(messages: readonly UnknownObject[]): string | undefined {
  const turns = messages
    .filter(({ role }) => role !== "system" && role !== "developer")
    .map(({ role }) => role);
  if (turns[0] !== "user" || turns.some((role, index) => role !== "tool" && role === turns[index - 1]))
    return "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";
  if (turns.some((role, index) => role === "user" && turns[index - 1] === "tool"))
    return "Unexpected role 'user' after role 'tool'";
  if (turns.at(-1) === "assistant")
    return "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant";
  return undefined;
}

function isJson(text: unknown): boolean {
  try {
    JSON.parse(String(text));
    return true;
  } catch {
    return false;
  }
}
