import { type Fields, fields } from "../fields.ts";

/** A message as applications of the AI SDK hold it (`ModelMessage`) or as a model receives it; kept as loose as it comes. */
export interface AiSdkMessage {
  readonly role: string;
  readonly content: unknown;
  readonly providerOptions?: unknown;
}

/** The messages of a conversation, or a prompt, oldest first. */
export type AiSdkWire = readonly AiSdkMessage[];

/** The parts of a message; a plain text is one part. */
export function contentOf(message: AiSdkMessage): readonly Fields[] {
  const { content } = fields(message);
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(fields) : [];
}

/** True for a part of an assistant's message that names something the provider has stored. */
export function hasItemId(part: Fields): boolean {
  return ITEM_KEEPERS.some((name) => fields(fields(part.providerOptions)[name]).itemId !== undefined);
}

/** The part without those names: what it says now is not what is stored. */
export function withoutItemId(part: Fields): Fields {
  if (!hasItemId(part)) return part;
  const options: Record<string, unknown> = { ...fields(part.providerOptions) };
  for (const name of ITEM_KEEPERS) {
    if (options[name] === undefined) continue;
    const { itemId: _, ...rest } = fields(options[name]);
    options[name] = rest;
  }
  return { ...part, providerOptions: options };
}

const ITEM_KEEPERS: readonly string[] = ["openai", "azure"];
