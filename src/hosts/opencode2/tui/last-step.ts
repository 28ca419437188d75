import { MAX_STEP_CHARS, plainLine } from "../../../agents/fork-lines.ts";
import { opencode2 } from "../../../formats/files/opencode2/opencode2.ts";
import { safeJson } from "../../../text/json.ts";
import { asObject, asString } from "../../../text/unknown-value.ts";

/** The newest step in stored messages: the last call, or the last text. */
export function lastStep(messages: readonly unknown[]): string | undefined {
  const answer = opencode2.decode(messages.slice(-LAST)).findLast(({ role }) => role === "assistant");
  const part = answer?.parts.findLast(({ type }) => type === "tool" || type === "text");
  if (part?.type === "text") return plainLine(part.text, MAX_STEP_CHARS) || undefined;
  if (part?.type !== "tool") return undefined;
  const [first] = Object.values(asObject(part.input));
  const about = asString(first) ?? (first === undefined ? "" : safeJson(first));
  return plainLine(`${part.tool} ${about}`, MAX_STEP_CHARS);
}

/** Enough to meet an answer behind what was inserted. */
const LAST = 6;
