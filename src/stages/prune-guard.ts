import type { Transcript } from "../transcript/message.ts";

/**
 * The index of the first message that belongs to the newest turns; what stands before it may be cleared.
 * A turn begins with a user message, and a compaction marker is one. Zero while there are too few turns.
 */
export function pruneGuard(messages: Transcript, protectTurns: number): number {
  let turns = 0;
  let index = messages.length;
  while (turns < protectTurns && index > 0) {
    index--;
    if (messages[index]?.role === "user") turns++;
  }
  return index;
}

/** How many of the newest turns pruning and superseding leave alone. */
export const PRUNE_PROTECT_TURNS = 2;

/** Tools whose results are never cleared; upper and lower case are the same. */
export const PRUNE_PROTECTED_TOOLS: readonly string[] = ["skill"];

/** Says whether a tool is among the protected ones, whatever the case of its name. */
export function createToolGuard(protectedTools: readonly string[]): (tool: string) => boolean {
  const names = new Set(protectedTools.map((name) => name.toLowerCase()));
  return (tool) => names.has(tool.toLowerCase());
}

/** What is wrong with a setting that must be a number of zero or more; nothing when it can be used. */
export function limitProblems(limits: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(limits)
    .filter(([, value]) => typeof value !== "number" || !Number.isFinite(value) || value < 0)
    .map(([name, value]) => `${name} is ${String(value)}; give a finite number of zero or more`);
}
