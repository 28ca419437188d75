import { fileAccess } from "../stages/supersede-file-access.ts";
import type { Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import type { TextCleaner } from "./summary-clean-text.ts";

/** Files by what was done to them last; a file that was changed is not also listed as read. The newest stand last. */
export interface FilesTouched {
  readonly filesRead: readonly string[];
  readonly filesChanged: readonly string[];
}

/** The files that calls of these messages read and changed, on top of those carried so far. */
export function collectFiles(
  carried: FilesTouched,
  messages: Transcript,
  cleaner: TextCleaner,
): FilesTouched {
  const read = new Set(carried.filesRead);
  const changed = new Set(carried.filesChanged);
  const add = (files: Set<string>, path: string): void => {
    const clean = cleaner.line(path, MAX_PATH_CHARS);
    if (clean === "") return;
    files.delete(clean);
    files.add(clean);
  };
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const part of message.parts) {
      if (part.type !== "tool" || part.agentVisible === false || part.outcome.status !== "done") continue;
      const access = fileAccess(part);
      if (access?.type === "read") add(read, access.path);
      else if (access?.path !== undefined) add(changed, access.path);
      else if (access?.type === "edit") for (const path of patchedPaths(part)) add(changed, path);
    }
  }
  return {
    filesRead: [...read].filter((path) => !changed.has(path)).slice(-MAX_FILES),
    filesChanged: [...changed].slice(-MAX_FILES),
  };
}

/** The newest paths whose list takes at most so many characters. */
export function newestPaths(paths: readonly string[], maxChars: number): readonly string[] {
  let leftChars = maxChars;
  const first = paths.findLastIndex((path) => {
    leftChars -= path.length + 2;
    return leftChars < 0;
  });
  return paths.slice(first + 1);
}

const MAX_PATH_CHARS = 300;
const MAX_FILES = 300;

/** The files that a patch names in its text. */
function patchedPaths({ input }: ToolPart): readonly string[] {
  const paths: string[] = [];
  try {
    for (const value of Object.values(input as object)) {
      if (typeof value !== "string") continue;
      for (const match of value.matchAll(PATCHED_FILE)) paths.push(match[1] ?? match[2] ?? "");
    }
  } catch {
    // An input that cannot be read names no file.
  }
  return paths;
}

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (\S[^\n]{0,299})$|^\+\+\+ b\/(\S[^\n\t]{0,299})/gm;
