import type { Message, Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { handlesInPlace, pinText } from "./pins.ts";
import { typedText } from "./plan-compaction-requests.ts";
import type { CompactionPlan } from "./plan-compaction-types.ts";
import { createTextCleaner, fenceQuote } from "./summary-clean-text.ts";

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
  const inPlace = new Set(handlesInPlace(plan.facts.pins, shown));
  for (const pin of plan.facts.pins) {
    const isThere =
      (pin.handle !== undefined && inPlace.has(pin.handle)) || summaryText.includes(pinText(pin));
    if (!isThere) missing.push(`a pin${pin.handle === undefined ? "" : ` (${pin.handle})`}`);
  }
  return missing;
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
