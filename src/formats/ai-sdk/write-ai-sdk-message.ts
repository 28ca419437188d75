import { COMPACTION_QUESTION, type Part, type ToolPart } from "../../transcript/part.ts";
import type { ItemDraft, PlacedBlock, SettleContext, Source } from "../blocks/block-adapter.ts";
import { isSameFile } from "../blocks/write-blocks.ts";
import { compact, type Fields, fields } from "../fields.ts";
import { type AiSdkMessage, type AiSdkWire, contentOf, hasItemId, withoutItemId } from "./ai-sdk-message.ts";
import { isText, readFile } from "./read-ai-sdk-message.ts";

/** The messages of a turn that an edit changed: results in a `tool` message, everything else in one of its role. */
export function writeAiSdkMessage(draft: ItemDraft<AiSdkMessage, Fields>): readonly AiSdkMessage[] {
  const { role, base } = draft;
  const blocks = role === "assistant" && base !== undefined ? unlinked(draft.blocks, base) : draft.blocks;
  const [ofTool, others] = [blocks.filter(isOfTool), blocks.filter((block) => !isOfTool(block))];
  return [
    ...message(ofTool, base?.role === "tool" ? base : { role: "tool", content: [] }),
    ...message(others, base?.role === role ? base : { role, content: [] }),
  ];
}

/** The value of a changed or new part. Reasoning that carries a provider's proof cannot be another text. */
export function writePart(part: Exclude<Part, ToolPart>, { value }: Source<Fields>): Fields | undefined {
  switch (part.type) {
    case "text":
      return { type: "text", ...value, text: part.text };
    case "reasoning":
      return value?.providerOptions === undefined
        ? { type: "reasoning", ...value, text: part.text }
        : undefined;
    case "compaction":
      return { type: "text", text: COMPACTION_QUESTION };
    case "file":
    case "opaque":
      return value;
    default:
      return part satisfies never;
  }
}

/** The value of a changed or new call. */
export function writeCall({ callId, tool, input }: ToolPart, { value }: Source<Fields>): Fields {
  return { type: "tool-call", ...value, toolCallId: callId, toolName: tool, input: input ?? {} };
}

/** The value of a changed or new result; media that the edit left stay as they are. */
export function writeResult({ callId, tool, outcome }: ToolPart, { value }: Source<Fields>): Fields {
  const output = fields(value?.output);
  const kept = compact({ providerOptions: output.providerOptions });
  const result = { type: "tool-result", toolCallId: callId, toolName: tool, ...value };
  if (outcome.status === "failed")
    return { ...result, output: { type: "error-text", value: outcome.error, ...kept } };
  const text = outcome.status === "done" ? outcome.output : "";
  const files = outcome.status === "done" ? outcome.attachments : [];
  const entries = Array.isArray(output.value) ? output.value.map(fields) : [];
  const media = entries.filter(
    (entry) => !isText(entry) && files.some((file) => isSameFile(readFile(entry), file)),
  );
  if (media.length === 0) return { ...result, output: { type: "text", value: text, ...kept } };
  const content = text === "" ? media : [{ type: "text", text }, ...media];
  return { ...result, output: { ...output, value: content } };
}

/** Hidden reasoning leaves, except where its provider wants it back: in the newest turn, and with the items it belongs to. */
export function settleTurn(
  blocks: readonly PlacedBlock<Fields>[],
  { isLast }: SettleContext<AiSdkWire>,
): readonly PlacedBlock<Fields>[] {
  if (!blocks.some(({ hidden }) => hidden)) return blocks;
  const isBound = (value: Fields): boolean =>
    hasItemId(value) || (isLast && value.providerOptions !== undefined);
  return blocks.filter(({ hidden, value }) => hidden !== true || isBound(value));
}

/**
 * The blocks as they may follow each other at a provider that stores them: once one of them is another, the stored
 * reasoning no longer belongs to what follows it, and the rest is sent as it is and not by its name.
 */
function unlinked(
  blocks: readonly PlacedBlock<Fields>[],
  base: AiSdkMessage,
): readonly PlacedBlock<Fields>[] {
  const content = contentOf(base);
  if (!content.some(hasItemId)) return blocks;
  const isWhole =
    blocks.length === content.length &&
    blocks.every(({ changed, index }, place) => !changed && index === place);
  if (isWhole) return blocks;
  return blocks
    .filter(({ part, value }) => part.type !== "reasoning" || !hasItemId(value))
    .map((block) => ({ ...block, value: withoutItemId(block.value) }));
}

function message(blocks: readonly PlacedBlock<Fields>[], base: AiSdkMessage): readonly AiSdkMessage[] {
  if (blocks.length === 0) return [];
  const values = blocks.map(({ value }) => value);
  // Only a system message has to be a plain text.
  const content = base.role === "system" ? values.map(({ text }) => String(text ?? "")).join("\n") : values;
  return [{ ...base, content }];
}

function isOfTool({ half, value }: PlacedBlock<Fields>): boolean {
  return half === "result" || value.type === "tool-approval-response";
}
