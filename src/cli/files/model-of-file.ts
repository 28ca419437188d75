import { asObject, asString } from "../../text/unknown-value.ts";
import type { ModelRef } from "../../transcript/message.ts";
import type { InputFile } from "./read-input.ts";

/**
 * The model that goes on with a session: the newest that its file names. Where it names none, one of Claude if thoughts in it
 * are signed by Claude, of which is taken what holds for the newest.
 */
export function modelOfFile({ transcript, wire, format }: InputFile): ModelRef | undefined {
  const named = transcript.findLast(({ model }) => model !== undefined)?.model;
  const id = asString(asObject(wire).model);
  if (named !== undefined) return named;
  if (id !== undefined) return { provider: format, id };
  const isClaude = format === "anthropic" || CLAUDE_SIGNATURE.test(JSON.stringify(wire));
  return isClaude ? { provider: "anthropic", id: "claude" } : undefined;
}

/** As the AI SDK keeps the signature of a thought. */
const CLAUDE_SIGNATURE = /"(?:anthropic|bedrock)":\{"signature":/;
