import { fields } from "../fields.ts";

/** A message of Anthropic's Messages API. Blocks and fields that are not known are kept as they are. */
export interface AnthropicMessage {
  readonly role: string;
  readonly content: unknown;
}

/** A request of that API; `system`, `tools` and `thinking` are looked at, everything else is kept. */
export interface AnthropicRequest {
  readonly messages: readonly AnthropicMessage[];
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly thinking?: unknown;
}

/** What the Anthropic format reads: a list of messages, or a whole request. */
export type AnthropicWire = readonly AnthropicMessage[] | AnthropicRequest;

/** The messages of a wire, its system text first. */
export function openAnthropic(wire: AnthropicWire): readonly AnthropicMessage[] {
  if (Array.isArray(wire)) return wire;
  const { messages, system } = fields(wire);
  if (!Array.isArray(messages)) return [];
  return system === undefined || system === null
    ? messages
    : [{ role: "system", content: system }, ...messages];
}

/** The wire with other messages in it. */
export function closeAnthropic(wire: AnthropicWire, items: readonly AnthropicMessage[]): AnthropicWire {
  if (Array.isArray(wire)) return items;
  if (typeof wire !== "object" || wire === null) return wire;
  const systems = items.filter((item) => fields(item).role === "system");
  const messages = items.filter((item) => fields(item).role !== "system");
  const [only, ...others] = systems;
  const { system: _, ...request } = wire as AnthropicRequest;
  if (only === undefined) return { ...request, messages };
  const system = others.length === 0 ? only.content : systems.flatMap(({ content }) => contentOf(content));
  return { ...wire, system, messages };
}

/** Content as a list of blocks; a text is a list of one. */
export function contentOf(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [];
}
