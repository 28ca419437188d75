import { plainMessages } from "../../eval/probe/history-text.ts";
import { createProbe } from "../../eval/probe/next-use.ts";
import { createScorer } from "../../eval/probe/score-text.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { fileAccess } from "../../stages/file-access.ts";
import { compactionPart, type Message, type Transcript } from "../../transcript/message.ts";
import { partTexts } from "./part-texts.ts";
import type { CompactionMoment, LostContent } from "./types.ts";

/**
 * What each compaction lost: names, paths and lines that the next steps used but that were only in summarized
 * messages, and files that were read again.
 */
export function lostContent(
  transcript: Transcript,
  { compactions, workingDirectory }: LostOptions,
): readonly LostContent[] {
  return compactions.map((moment, at) => {
    const { index } = moment;
    const window = filterCompacted(transcript.slice(0, index)).filter((message) => !compactionPart(message));
    const kept = filterCompacted(transcript.slice(0, index + 1));
    const after = transcript.slice(index + 1, compactions[at + 1]?.index ?? transcript.length);
    const probe = createProbe([...window, ...after], {
      atIndex: window.length,
      steps: NEXT_STEPS,
      ...(workingDirectory !== undefined && { workingDirectory }),
    });
    const { mentioned } = createScorer(probe)(plainMessages(kept).join("\n"));
    const missing = probe.targets.filter((_, target) => !mentioned[target]);
    const keptIds = new Set(kept.map(({ id }) => id));
    return {
      ...moment,
      summary: recordedText(transcript[index]),
      summarizedMessages: window.filter(({ id }) => !keptIds.has(id)).length,
      keptMessages: window.filter(({ id }) => keptIds.has(id)).length,
      neededCount: probe.targets.length,
      keptCount: probe.targets.length - missing.length,
      missing: missing
        .slice(0, MAX_MISSING)
        .map(({ identifier, class: kind }) => ({ name: identifier.slice(0, MAX_NAME_CHARS), kind })),
      readAgain: readAgain(window, after, index + 1),
    };
  });
}

interface LostOptions {
  readonly compactions: readonly CompactionMoment[];
  readonly workingDirectory?: string | undefined;
}

/** How many steps to look ahead. */
export const NEXT_STEPS = 20;
const MAX_MISSING = 100;
const MAX_NAME_CHARS = 200;

function recordedText(message: Message | undefined): string {
  if (message === undefined) return "";
  return message.parts
    .flatMap((part) => partTexts(message, part, "recorded"))
    .map(({ text }) => text)
    .join("\n");
}

/** The first reads, after a compaction, of files that were read before it. */
function readAgain(before: Transcript, after: Transcript, firstIndex: number): LostContent["readAgain"] {
  const known = new Set(before.flatMap(pathsRead));
  const found = new Map<string, number>();
  for (const [at, message] of after.entries())
    for (const path of pathsRead(message))
      if (known.has(path) && !found.has(path)) found.set(path, firstIndex + at);
  return Array.from(found, ([path, index]) => ({ path, index }));
}

function pathsRead({ parts }: Message): readonly string[] {
  return parts.flatMap((part) => {
    const access = part.type === "tool" ? fileAccess(part) : undefined;
    return access?.type === "read" ? [access.path] : [];
  });
}
