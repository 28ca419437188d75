import { outcomeText, type Part, type ToolPart } from "../../transcript/part.ts";
import type { ItemDraft, PlacedBlock, SettleContext, Source } from "../blocks/block-adapter.ts";
import { writeResultContent } from "../blocks/result-content.ts";
import { writeText } from "../blocks/write-text.ts";
import { compact, type Fields, fields } from "../fields.ts";
import { type AiSdkMessage, type AiSdkWire, contentOf, hasItemId, withoutItemId } from "./ai-sdk-message.ts";
import { RESULT_SHAPE } from "./read-ai-sdk-message.ts";

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
export function writePart(part: Exclude<Part, ToolPart>, source: Source<Fields>): Fields | undefined {
  const { value } = source;
  if (part.type === "reasoning")
    return value?.providerOptions === undefined
      ? { type: "reasoning", ...value, text: part.text }
      : undefined;
  return part.type === "opaque" ? value : writeText(part, source, "text");
}

/** The value of a changed or new call. */
export function writeCall({ callId, tool, input }: ToolPart, { value }: Source<Fields>): Fields {
  return { type: "tool-call", ...value, toolCallId: callId, toolName: tool, input: input ?? {} };
}

/** The value of a changed or new result; media that the edit left stay as they are. */
export function writeResult(part: ToolPart, { value, before }: Source<Fields>): Fields {
  const { callId, tool, outcome } = part;
  const result = { type: "tool-result", toolCallId: callId, toolName: tool, ...value };
  const output = fields(value?.output);
  const kept = compact({ providerOptions: output.providerOptions });
  if (outcome.status === "failed")
    return { ...result, output: { type: "error-text", value: outcome.error, ...kept } };
  const isList = outcome.status === "done" && outcome.attachments.length > 0 && Array.isArray(output.value);
  if (!isList) return { ...result, output: { type: "text", value: outcomeText(outcome), ...kept } };
  const content = writeResultContent(part, {
    before,
    content: output.value,
    shape: RESULT_SHAPE,
  });
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
