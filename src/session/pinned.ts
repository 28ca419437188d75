import { createPinGuard, type Pin } from "../compaction/summary/pins.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import { findMessage } from "./history.ts";
import type { SessionView } from "./view.ts";

/** The edits without those that would hide or change something pinned. */
export function withoutPinned(view: SessionView, edits: readonly Edit[]): readonly Edit[] {
  const pins = pinsWithProtected(view.options.pins, view.protectedOutputs.kept) ?? [];
  if (pins.length === 0) return edits;
  const isPinned = createPinGuard(pins);
  return edits.filter((edit) => {
    if (edit.type === "insert-message" || edit.type === "move-message") return true;
    const message = findMessage(view.state.history, edit.messageId);
    if (message === undefined) return true;
    if (edit.type === "hide-message") return !message.parts.some((_, index) => isPinned(message, index));
    return !isPinned(message, edit.partIndex);
  });
}

/** The pins, and the outputs that stay like them. */
export function pinsWithProtected(
  pins: readonly Pin[] | undefined,
  kept: readonly Handle[],
): readonly Pin[] | undefined {
  return kept.length === 0 ? pins : [...(pins ?? []), ...kept.map((handle) => ({ handle }))];
}
