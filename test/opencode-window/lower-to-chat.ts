import type { Message, ModelRef, Transcript } from "../../src/transcript/message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, type Part, type ToolPart } from "../../src/transcript/part.ts";
import type { ChatMessage, ChatToolCall } from "../rig/opencode/recording.ts";

/**
 * The chat messages, system prompt aside, that OpenCode sends for a window when it talks to `model`
 * over the OpenAI-compatible wire. Written from what the recordings show, not from our own formats,
 * so that a mistake there cannot hide here.
 */
export function lowerToChat(window: Transcript, model: ModelRef): readonly ChatMessage[] {
  return window.flatMap((message) =>
    message.role === "user"
      ? lowerUser(message)
      : message.role === "assistant"
        ? lowerAssistant(message, model)
        : [],
  );
}

function lowerUser(message: Message): readonly ChatMessage[] {
  const content = message.parts.flatMap(userContent);
  if (content.length === 0) return [];
  const [only, ...others] = content;
  return [{ role: "user", content: others.length === 0 && only?.type === "text" ? only.text : content }];
}

type UserContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

function userContent(part: Part): readonly UserContent[] {
  if (part.agentVisible === false) return [];
  switch (part.type) {
    case "text":
      return part.ignored || part.text === "" ? [] : [{ type: "text", text: part.text }];
    case "file":
      // A text file or a folder was read when it was attached; what was read stands beside it as text.
      return part.mime === "text/plain" || part.mime === "application/x-directory" ? [] : [media(part)];
    case "compaction":
      return [{ type: "text", text: "What did we do so far?" }];
    case "opaque":
      return part.name === "subtask"
        ? [{ type: "text", text: "The following tool was executed by the user" }]
        : [];
    default:
      return [];
  }
}

function lowerAssistant(message: Message, model: ModelRef): readonly ChatMessage[] {
  if (message.error !== undefined && !isAbortedWithContent(message)) return [];
  const ofAnotherModel = message.model?.provider !== model.provider || message.model.id !== model.id;
  const steps = splitSteps(message.parts);
  const files = steps.flat().flatMap(attachedMedia);
  const lowered = steps.flatMap((step) => lowerStep(step, ofAnotherModel));
  if (files.length === 0) return lowered;
  const content = [{ type: "text", text: "Attached media from tool result:" }, ...files.map(media)];
  return [...lowered, { role: "user", content }];
}

/** A failed answer is not sent, save one that the user stopped after something of it was stored. */
function isAbortedWithContent({ error, parts }: Message): boolean {
  return (
    error?.name === "MessageAbortedError" &&
    parts.some((part) => !isStepStart(part) && part.type !== "reasoning")
  );
}

/** One answer of the model each: an answer that broke off and was tried again has two. */
function splitSteps(parts: readonly Part[]): readonly (readonly Part[])[] {
  const steps: Part[][] = [[]];
  for (const part of parts) {
    if (isStepStart(part)) steps.push([]);
    else if (part.agentVisible !== false) steps.at(-1)?.push(part);
  }
  return steps;
}

function isStepStart(part: Part): boolean {
  return part.type === "opaque" && part.name === "step-start";
}

function lowerStep(step: readonly Part[], ofAnotherModel: boolean): readonly ChatMessage[] {
  // Only the model that reasoned can read its own reasoning back; another one reads it as text.
  const texts = step.flatMap((part) =>
    part.type === "text" || (part.type === "reasoning" && ofAnotherModel && part.text.trim() !== "")
      ? [part.text]
      : [],
  );
  const reasoning = step.flatMap((part) => (part.type === "reasoning" && !ofAnotherModel ? [part.text] : []));
  const tools = step.filter((part) => part.type === "tool");
  if (texts.length + reasoning.length + tools.length === 0) return [];
  const answer: ChatMessage = {
    role: "assistant",
    content: texts.join(""),
    ...(reasoning.join("") === "" ? {} : { reasoning_content: reasoning.join("") }),
    ...(tools.length === 0 ? {} : { tool_calls: tools.map(lowerCall) }),
  };
  return [answer, ...tools.map(lowerResult)];
}

function lowerCall({ callId, tool, input }: ToolPart): ChatToolCall {
  return { id: callId, type: "function", function: { name: tool, arguments: JSON.stringify(input) } };
}

function lowerResult(part: ToolPart): ChatMessage {
  return { role: "tool", tool_call_id: part.callId, content: resultText(part) };
}

function resultText({ outcome, clearedAt }: ToolPart): string {
  switch (outcome.status) {
    case "pending":
      return "[Tool execution was interrupted]";
    case "failed":
      return outcome.error;
    case "done":
      return clearedAt === undefined ? outcome.output : CLEARED_PLACEHOLDER;
    default:
      return outcome satisfies never;
  }
}

/** On this wire a tool cannot answer with a picture, so it is sent behind the result, as if by the user. */
function attachedMedia(part: Part): readonly FilePart[] {
  if (part.type !== "tool" || part.outcome.status !== "done" || part.clearedAt !== undefined) return [];
  return part.outcome.attachments.filter(
    ({ mime }) => mime.startsWith("image/") || mime === "application/pdf",
  );
}

/**
 * The scripted models see pictures and nothing else; the host tells them what they cannot see.
 * The transcript keeps what a file is and not its bytes, so pictures are compared by their type.
 */
function media({ mime, filename }: FilePart): UserContent {
  if (mime.startsWith("image/")) return { type: "image_url", image_url: { url: `data:${mime}` } };
  const kind = mime === "application/pdf" ? "pdf" : mime.split("/")[0];
  const name = filename === undefined ? kind : `"${filename}"`;
  const text = `ERROR: Cannot read ${name} (this model does not support ${kind} input). Inform the user.`;
  return { type: "text", text };
}
