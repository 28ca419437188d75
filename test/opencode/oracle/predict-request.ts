import { opencode } from "../../../src/formats/wires/opencode/opencode.ts";
import { filterCompacted } from "../../../src/stages/boundary.ts";
import type { Transcript } from "../../../src/transcript/message.ts";
import { lowerToChat } from "../../opencode-window/lower-to-chat.ts";
import { comparable, type WireRequest } from "../../opencode-window/wire-session.ts";
import type { ChatMessage } from "../../rig/opencode/recording.ts";
import { type CompactionFault, healCompactions } from "./heal-compactions.ts";
import { hostWindow } from "./host-window.ts";

/** Three predictions of one request, from the same stored messages and through the same format. */
export function predictRequest({ stored, model }: WireRequest): Prediction {
  const transcript = opencode.decode(stored);
  const lower = (window: Transcript): readonly ChatMessage[] => comparable(lowerToChat(window, model));
  const healed = healCompactions(transcript);
  return {
    ours: lower(filterCompacted(transcript)),
    hosts: lower(hostWindow(transcript)),
    healed: lower(hostWindow(healed.transcript)),
    faults: healed.faults,
    hasTail: hasTail(filterCompacted(transcript)),
  };
}

export interface Prediction {
  /** Our own window. */
  readonly ours: readonly ChatMessage[];
  /** The host's window. */
  readonly hosts: readonly ChatMessage[];
  /** The host's window of the same session without its faults. */
  readonly healed: readonly ChatMessage[];
  readonly faults: readonly CompactionFault[];
  /** Whether our window begins with a marker and what follows was said before it. */
  readonly hasTail: boolean;
}

function hasTail(window: Transcript): boolean {
  return window.some(({ createdAt = 0 }, index) => createdAt < (window[index - 1]?.createdAt ?? 0));
}
