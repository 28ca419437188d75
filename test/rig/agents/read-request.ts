import { anthropic } from "../../../src/formats/wires/anthropic/anthropic.ts";
import { openaiChat } from "../../../src/formats/wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "../../../src/formats/wires/openai-responses/openai-responses.ts";
import { asArray, asObject } from "../../../src/text/unknown-value.ts";
import type { Transcript } from "../../../src/transcript/message.ts";
import type { ToolPart } from "../../../src/transcript/part.ts";
import type { ModelRequest } from "../model-server/model-server.ts";

/** What a model is sent in a request, and what a provider would refuse of it. */
export function readRequest({ wire, body }: ModelRequest): {
  readonly calls: readonly ToolPart[];
  readonly faults: readonly unknown[];
  readonly said: string;
  readonly offered: readonly string[];
} {
  const format = wire === "anthropic" ? anthropic : wire === "openai-chat" ? openaiChat : openaiResponses;
  const transcript: Transcript = format.decode(body as never);
  const parts = transcript.flatMap((message) => message.parts);
  return {
    calls: parts.filter((part) => part.type === "tool"),
    faults: format.faults(body as never),
    said: parts.map((part) => (part.type === "text" ? part.text : "")).join("\n"),
    offered: asArray(body.tools).map((tool) => {
      const { name, function: described } = asObject(tool);
      return String(name ?? asObject(described).name);
    }),
  };
}
