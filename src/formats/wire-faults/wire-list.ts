import { fields } from "../fields.ts";

/** The list of messages of a wire: the wire itself, or that field of a request; empty when neither is one. */
export function wireList(wire: unknown, field: string): readonly unknown[] {
  if (Array.isArray(wire)) return wire;
  const list = fields(wire)[field];
  return Array.isArray(list) ? list : [];
}

/** The pieces of a content: a list as it is, a text as one text block, nothing otherwise. */
export function contentBlocks(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}
