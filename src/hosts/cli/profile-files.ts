import type { Item } from "./profile-items.ts";

/** How much of a window is about one file. */
export interface FileProfile {
  readonly path: string;
  readonly reads: number;
  readonly changes: number;
  readonly chars: number;
  readonly tokens: number;
  /** The same lines asked for again: how many reads could have been one, and what they brought in. */
  readonly repeatedReads: number;
  readonly repeatedChars: number;
}

/** The files that calls name, those that take the most room first. Shell commands name none. */
export function profileFiles(items: readonly Item[]): readonly FileProfile[] {
  const files = new Map<string, Mutable<FileProfile>>();
  const asked = new Set<string>();
  for (const { access, kind, chars, tokens } of items) {
    if (access?.path === undefined) continue;
    const file = files.get(access.path) ?? { ...NOTHING, path: access.path };
    files.set(access.path, file);
    file.chars += chars;
    file.tokens += tokens;
    if (kind === "tool input") {
      if (access.type === "read") file.reads++;
      else file.changes++;
    } else if (access.type === "read") {
      const question = `${access.question}\n${access.startLine}\n${access.maxLines}`;
      if (asked.has(question)) {
        file.repeatedReads++;
        file.repeatedChars += chars;
      }
      asked.add(question);
    }
  }
  return [...files.values()].sort((a, b) => b.tokens - a.tokens);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const NOTHING: Omit<FileProfile, "path"> = {
  reads: 0,
  changes: 0,
  chars: 0,
  tokens: 0,
  repeatedReads: 0,
  repeatedChars: 0,
};
