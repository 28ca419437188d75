import { opencode } from "../../../src/formats/opencode/opencode.ts";
import { filterCompacted } from "../../../src/stages/filter-compacted.ts";
import type { ChatMessage } from "../../../src/testing/opencode/recording.ts";
import { lowerToChat } from "../../opencode-window/lower-to-chat.ts";
import { comparable, hasFailedTail, type WireRequest } from "../../opencode-window/wire-session.ts";
import { hostWindow } from "./host-window.ts";

/** What our window of the stored messages is on the wire, what the host's is, and which known shapes set them apart. */
export function predictRequest(request: WireRequest): Prediction {
  const transcript = opencode.decode(request.stored);
  const lower = (window: typeof transcript): readonly ChatMessage[] =>
    comparable(lowerToChat(window, request.model));
  return {
    ours: lower(filterCompacted(transcript)),
    hosts: lower(hostWindow(transcript)),
    shapes: SHAPES.filter(({ applies }) => applies(request)).map(({ name }) => name),
  };
}

export interface Prediction {
  readonly ours: readonly ChatMessage[];
  readonly hosts: readonly ChatMessage[];
  readonly shapes: readonly KnownShape[];
}

/** Shapes of sessions for which our window is on purpose not the host's; docs/opencode.md says why. */
export type KnownShape = "failed-tail" | "dangling-tail" | "empty-summary";

const SHAPES: readonly { readonly name: KnownShape; applies(request: WireRequest): boolean }[] = [
  { name: "failed-tail", applies: hasFailedTail },
  {
    name: "dangling-tail",
    applies: ({ stored }) =>
      stored.some(({ parts }) =>
        parts.some(
          ({ tail_start_id: tailId }) =>
            tailId !== undefined && !stored.some(({ info }) => info.id === tailId),
        ),
      ),
  },
  {
    name: "empty-summary",
    applies: ({ stored }) =>
      stored.some(
        ({ info, parts }) =>
          info.summary === true && !parts.some(({ text }) => typeof text === "string" && text.trim() !== ""),
      ),
  },
];
