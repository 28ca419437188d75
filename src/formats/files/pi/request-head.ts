import { hashText } from "../../../text/hash-text.ts";
import { safeJson } from "../../../text/json.ts";
import { asArray, asObject, type UnknownObject } from "../../../text/unknown-value.ts";

/**
 * Names what stands before every message of a request of pi: its system prompt and its tools. A change of them is a system
 * message of its own. Models that take those in the middle read them there; for others they are all put in front.
 */
export function requestHead(messages: readonly UnknownObject[], compat: unknown): string {
  const { supportsMidConvoSystemMessages: prompts, supportsMidConvoToolChanges: tools } = asObject(compat);
  const system = messages.filter(({ role }) => role === "system");
  const first = system.slice(0, 1);
  const head = [promptOf(prompts ? first : system), toolsOf(prompts && tools ? first : system)];
  return String(hashText(safeJson(head)));
}

function promptOf(system: readonly UnknownObject[]): readonly unknown[] {
  const sections = new Map<string, unknown>();
  for (const [name, value] of system.flatMap((message) => Object.entries(asObject(message.sections))))
    if (value === null) sections.delete(name);
    else sections.set(name, value);
  return [textIn(system), ...sections];
}

/** Several texts are one, a blank line between them. */
function textIn(system: readonly UnknownObject[]): string {
  const texts = system.flatMap(({ content }) =>
    typeof content === "string" ? [content] : asArray(content).map((block) => asObject(block).text),
  );
  return texts.filter((text) => typeof text === "string" && text !== "").join("\n\n");
}

function toolsOf(system: readonly UnknownObject[]): readonly unknown[] {
  const tools = new Map<unknown, unknown>();
  for (const { toolsRemoved, toolsAdded } of system) {
    for (const tool of asArray(toolsRemoved)) tools.delete(asObject(tool).name);
    for (const tool of asArray(toolsAdded)) tools.set(asObject(tool).name, tool);
  }
  return [...tools.values()];
}
