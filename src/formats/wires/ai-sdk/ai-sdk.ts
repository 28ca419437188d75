import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import { type Fault, findFaults } from "../../../transcript/format.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { type BlockFormat, createBlockFormat } from "../../blocks/create-block-format.ts";
import {
  type AiSdkMessage,
  type AiSdkWire,
  contentOf,
  detachPart,
  dropHiddenReasoning,
  type EncodedAiSdkMessage,
  isSignedCall,
  joinAnswerTexts,
  readAiSdkMessage,
  writeAiSdkMessage,
  writeCall,
  writePart,
  writeResult,
} from "./ai-sdk-message.ts";

/** The messages of Vercel's AI SDK: `ModelMessage[]` of an application, or the prompt that a model receives. */
export const aiSdk: AiSdkFormat = /* @__PURE__ */ createBlockFormat<
  AiSdkWire,
  AiSdkMessage,
  UnknownObject,
  EncodedAiSdkMessage[]
>(
  {
    name: "ai-sdk",
    open: (wire) => withoutSettledApprovals(messagesOf(wire)),
    close: (_, items) => items,
    read: readAiSdkMessage,
    write: writeAiSdkMessage,
    writePart,
    writeCall,
    writeResult,
    renameCall: (value, toolCallId) => ({ ...value, toolCallId }),
    results: "together",
    // Also questions: strict chat templates take no two in a row.
    merges: (role) => (role === "assistant" || role === "user" ? "edited" : "never"),
    normalizeTurn: dropHiddenReasoning,
    // Providers behind the SDK differ in what they take, so the strictest counts.
    encoding: {
      system: "apart",
      maxCallIdChars: 40,
      notInToolNames: /[^a-zA-Z0-9_-]/g,
      detach: detachPart,
      tidy: joinAnswerTexts,
    },
  },
  findAiSdkFaults,
);

/** The format of the AI SDK's messages; what it encodes is a `ModelMessage[]`. */
export interface AiSdkFormat extends BlockFormat<AiSdkWire> {
  /** The messages of any transcript, such as `session.messages()`, for `generateText` and `streamText`. */
  encode(transcript: Transcript): EncodedAiSdkMessage[];
}

function messagesOf(wire: AiSdkWire): AiSdkWire {
  return Array.isArray(wire) ? wire : [];
}

/**
 * The messages without approvals of calls that have their result: the SDK sends none of them, so that a message would be
 * empty that an edit left nothing else in, and two answers neighbours that only the approval stands between.
 */
function withoutSettledApprovals(messages: AiSdkWire): AiSdkWire {
  const answered = new Set<unknown>();
  const settled = new Set<unknown>();
  for (const message of messages.toReversed())
    for (const { type, toolCallId, approvalId } of contentOf(message).toReversed()) {
      if (type === "tool-result" && message.role === "tool") answered.add(toolCallId);
      if (type === "tool-approval-request" && answered.has(toolCallId)) settled.add(approvalId);
    }
  if (settled.size === 0) return messages;
  return messages.flatMap((message) => {
    const parts = contentOf(message);
    const left = parts.filter(({ type, approvalId }) => !isApproval(type) || !settled.has(approvalId));
    if (left.length === parts.length) return [message];
    return left.length === 0 ? [] : [{ ...message, content: left }];
  });
}

function isApproval(type: unknown): boolean {
  return type === "tool-approval-request" || type === "tool-approval-response";
}

/** What the AI SDK, or every provider behind it, would refuse in some messages. */
function findAiSdkFaults(wire: AiSdkWire): readonly Fault[] {
  const messages = messagesOf(wire);
  return [
    ...findFaults(aiSdk.decode(wire)),
    ...repeatedIds(messages),
    ...shapeFaults(messages),
    ...orderFaults(messages),
    ...signatureFaults(messages),
  ];
}

/** Decoding gives each call a name of its own, so that only the wire shows whether two had one. */
function* repeatedIds(wire: AiSdkWire): Generator<Fault> {
  const seen = new Set<unknown>([""]);
  for (const [index, message] of wire.entries()) {
    for (const { type, toolCallId } of contentOf(message)) {
      if (type !== "tool-call" || typeof toolCallId !== "string") continue;
      if (seen.has(toolCallId))
        yield {
          rule: "call-id-repeated",
          messageId: placeOf(index),
          text: `call ${toolCallId} is there twice`,
        };
      seen.add(toolCallId);
    }
  }
}

/** ai-sdk-1, `AI_InvalidPromptError`: a message of no known shape. */
function shapeFaults(wire: AiSdkWire): readonly Fault[] {
  return wire.flatMap((message, index) => {
    const { role, content } = asObject(message);
    const known = PART_TYPES.get(asString(role) ?? "");
    const fault = (text: string): Fault => ({ rule: "ai-sdk-1", messageId: placeOf(index), text });
    if (known === undefined) return [fault(`no message has the role ${asString(role)}`)];
    if (typeof content === "string") return role === "tool" ? [fault("results are a list of parts")] : [];
    if (role === "system" || !Array.isArray(content))
      return [fault("the content is neither text nor a list")];
    return contentOf(message)
      .filter(({ type }) => !known.has(asString(type) ?? ""))
      .map(({ type }) => fault(`a message of the ${asString(role)} holds no ${asString(type)}`));
  });
}

/** ai-sdk-2, `AI_MissingToolResultsError`: a call needs its result before the next user or system message. */
function* orderFaults(wire: AiSdkWire): Generator<Fault> {
  const open = new Map<string, number>();
  function* missing(): Generator<Fault> {
    for (const [callId, index] of open) {
      const text = `call ${callId} is not answered before the next message`;
      yield { rule: "ai-sdk-2", messageId: placeOf(index), text };
    }
    open.clear();
  }
  for (const [index, message] of wire.entries()) {
    const { role } = asObject(message);
    if (role === "user" || role === "system") yield* missing();
    for (const { type, toolCallId, providerExecuted } of contentOf(message)) {
      if (role === "assistant" && type === "tool-call" && providerExecuted !== true)
        open.set(asString(toolCallId) ?? "", index);
      if (role === "tool" && type === "tool-result") open.delete(asString(toolCallId) ?? "");
    }
  }
  yield* missing();
}

/** gemini-43: where the provider signs calls, the first call of each step since the newest question keeps its signature. */
function signatureFaults(wire: AiSdkWire): readonly Fault[] {
  const start = wire.findLastIndex(
    (message) => asObject(message).role === "user" && contentOf(message).some(({ type }) => type === "text"),
  );
  const steps = wire.flatMap((message, index) => {
    const calls = contentOf(message).filter(
      ({ type, providerExecuted }) => type === "tool-call" && providerExecuted !== true,
    );
    return index > start && asObject(message).role === "assistant" && calls.length > 0
      ? [{ index, calls }]
      : [];
  });
  if (!steps.some(({ calls }) => calls.some(isSignedCall))) return [];
  const unsigned = steps.filter(({ calls: [first] }) => first !== undefined && !isSignedCall(first));
  const text = "the first call of this step lost its signature: keep it there";
  return unsigned.map(({ index }) => ({ rule: "gemini-43", messageId: placeOf(index), text }));
}

const PART_TYPES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    system: new Set(),
    user: new Set(["text", "image", "file"]),
    assistant: new Set([
      "text",
      "file",
      "reasoning",
      "reasoning-file",
      "custom",
      "tool-call",
      "tool-result",
      "tool-approval-request",
    ]),
    tool: new Set(["tool-result", "tool-approval-response"]),
  }),
);

function placeOf(index: number): string {
  return `messages[${index}]`;
}
