import type { Message, Transcript } from "../transcript/message.ts";
import { isCleared } from "../transcript/tool-results.ts";
import { isVisibleToModel, reachesModel } from "../transcript/visibility.ts";
import { pinText, staysInPlace } from "./pins.ts";
import { typedText } from "./plan-compaction-requests.ts";
import type { CompactionPlan } from "./plan-compaction-types.ts";
import { createTextCleaner, fenceQuote } from "./summary-clean-text.ts";
import { hasOnlyStub } from "./tool-summary-archive.ts";

/** What has to be before the model after a compaction and is not: the user's last request, and every pin. */
export function missingAfter(plan: CompactionPlan, after: Transcript): readonly string[] {
  const shown = after.filter(isVisibleToModel);
  const summaryText = textOf(shown.find((message) => message.id === plan.ids.summary));
  const missing: string[] = [];
  const { lastRequest } = plan;
  if (lastRequest !== undefined) {
    const { place, messageId, text } = lastRequest;
    const isThere =
      place === "kept"
        ? shown.some((message) => message.id === messageId && typedText(message) === text)
        : summaryText.includes(fenceQuote(createTextCleaner(plan.redaction).typed(text)));
    if (!isThere) missing.push("the user's last request");
  }
  const keptIds = new Set(plan.keptIds);
  for (const pin of plan.facts.pins) {
    const isThere = staysInPlace(pin, keptIds)
      ? shown.some((message) => holds(message, pin.handle ?? ""))
      : summaryText.includes(pinText(pin));
    if (!isThere) missing.push(`a pin${pin.handle === undefined ? "" : ` (${pin.handle})`}`);
  }
  return missing;
}

/** True when the model still reads what a handle names. */
function holds(message: Message, handle: string): boolean {
  if (message.id === handle) return true;
  if (!handle.startsWith(`${message.id}/`)) return false;
  const part = message.parts[Number(handle.slice(message.id.length + 1))];
  return (
    part !== undefined &&
    reachesModel(part) &&
    !(part.type === "tool" && (isCleared(part) || hasOnlyStub(part)))
  );
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
