import { markedPins } from "../../compaction/plan/window.ts";
import type { Pin } from "../../compaction/summary/pins.ts";
import { fileAccess } from "../../stages/file-access.ts";
import { handleOf, outcomeText } from "../../transcript/content.ts";
import {
  isVisibleToModel,
  type Message,
  reachesModel,
  shownOutcome,
  type Transcript,
} from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { isGlob, pathMatcher } from "./pinned-files.ts";

/** What the user wants kept: texts and files of the option `pin`, and messages marked with `#pin`. */
export interface PinnedTexts {
  /** The pins as they stand in a transcript. */
  pinsOf(transcript: Transcript): readonly Pin[];
  /** Patterns of files whose content is pinned. */
  readonly globs: readonly string[];
}

export function createPinnedTexts(pins: readonly string[]): PinnedTexts {
  const globs = pins.filter(isGlob);
  const texts = pins.filter((pin) => !isGlob(pin));
  const isPinned = pathMatcher(globs);
  const known = new WeakMap<Message, readonly Pin[]>();
  const findPins = (message: Message): readonly Pin[] => {
    if (markedPins([message]).length > 0) return [{ handle: message.id }];
    return message.parts.flatMap((part, index): Pin[] =>
      isPinned(pathOf(part)) ? [{ handle: handleOf(message, index) }] : [],
    );
  };
  return {
    globs,
    pinsOf(transcript) {
      const pins: Pin[] = texts.map((text) => ({ text }));
      for (const message of transcript) {
        const found = known.get(message) ?? findPins(message);
        known.set(message, found);
        for (const pin of found) pins.push(pin);
      }
      return pins;
    },
  };
}

/** The pins that the model saw before and does not see after. */
export function missingPins(pins: readonly Pin[], { before, after }: BeforeAndAfter): readonly Pin[] {
  const [seenBefore, seenAfter] = [before, after].map(readableTexts) as [ReadableTexts, ReadableTexts];
  return pins.filter((pin) => {
    if ("handle" in pin) return seenBefore.at(pin.handle) !== seenAfter.at(pin.handle);
    return seenBefore.holds(pin.text) && !seenAfter.holds(pin.text);
  });
}

interface BeforeAndAfter {
  readonly before: Transcript;
  readonly after: Transcript;
}

function pathOf(part: Part): string {
  const access = part.type === "tool" ? fileAccess(part) : undefined;
  return access?.path ?? "";
}

interface ReadableTexts {
  at(handle: string): string | undefined;
  holds(text: string): boolean;
}

function readableTexts(transcript: Transcript): ReadableTexts {
  const byHandle = new Map<string, string>();
  for (const message of transcript) {
    if (!isVisibleToModel(message)) continue;
    const texts = message.parts.map((part) => (reachesModel(part) ? textOf(part) : ""));
    byHandle.set(message.id, texts.join("\n"));
    for (const [index, text] of texts.entries()) byHandle.set(handleOf(message, index), text);
  }
  return {
    at: (handle) => byHandle.get(handle),
    holds: (text) => [...byHandle.values()].some((each) => each.includes(text)),
  };
}

function textOf(part: Part): string {
  if (part.type === "text") return part.text;
  return part.type === "tool" ? outcomeText(shownOutcome(part)) : "";
}
