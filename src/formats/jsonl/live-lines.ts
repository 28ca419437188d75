import { liveFrom, type Skeleton, skeletonOf } from "../claude-code/live-lines.ts";
import type { FormatName } from "../detect-format.ts";
import { fields } from "../fields.ts";
import { linkOf } from "../pi/read-lines.ts";
import { type LineLink, liveBranch } from "../transcript-file/live-branch.ts";

/** Lines as they come, of which only those of the conversation are kept in the end. */
export interface LiveLines {
  take(line: unknown): void;
  lines(): readonly unknown[];
}

/** Collects the lines of a file and lets go of what its conversation does not need; of an unknown format it keeps all. */
export function createLiveLines(format: FormatName | "unknown"): LiveLines {
  if (format === "claude-code") return createBranchLines(CLAUDE_CODE);
  if (format === "pi") return createBranchLines(PI);
  const kept: unknown[] = [];
  const mayCount = format === "codex" ? isOfCodexConversation : () => true;
  return {
    take(line) {
      if (mayCount(line)) kept.push(line);
    },
    lines: () => kept,
  };
}

interface BranchFormat<Bones> {
  readonly bonesOf: (line: unknown) => Bones;
  /** True for a line that is worth keeping if it turns out to be live. */
  readonly mayCount: (line: unknown, bones: Bones) => boolean;
  readonly liveFrom: (bones: readonly Bones[]) => readonly boolean[];
}

/** Of every line only its place in the tree is kept; of those that may count the line itself, until the branch is known. */
function createBranchLines<Bones>({
  bonesOf,
  mayCount,
  liveFrom: isLiveFrom,
}: BranchFormat<Bones>): LiveLines {
  const bones: Bones[] = [];
  const kept: unknown[] = [];
  return {
    take(line) {
      const own = bonesOf(line);
      bones.push(own);
      kept.push(mayCount(line, own) ? line : undefined);
    },
    lines() {
      const isLive = isLiveFrom(bones);
      return kept.filter((line, index) => line !== undefined && isLive[index]);
    },
  };
}

const CLAUDE_CODE: BranchFormat<Skeleton> = {
  bonesOf: skeletonOf,
  mayCount(line) {
    const { type, subtype } = fields(line);
    return type === "user" || type === "assistant" || subtype === "compact_boundary";
  },
  liveFrom,
};

const PI: BranchFormat<LineLink | "head" | "loose"> = {
  bonesOf: (line) => linkOf(line) ?? (fields(line).type === "session" ? "head" : "loose"),
  mayCount: () => true,
  liveFrom(bones) {
    const links = bones.map((each) => (typeof each === "string" ? undefined : each));
    if (!links.some((link) => link !== undefined)) return bones.map(() => true);
    const { isLive } = liveBranch(links);
    return bones.map((each, index) => each === "head" || isLive[index] === true);
  },
};

/** Events for the screen say again what the items say; of them only what was counted and taken back matters. */
function isOfCodexConversation(line: unknown): boolean {
  const { type, payload } = fields(line);
  if (type !== "event_msg") return true;
  const event = fields(payload).type;
  return event === "token_count" || event === "thread_rolled_back";
}
