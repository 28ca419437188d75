import { ConfigurationError } from "../text/configuration-error.ts";
import { mapStrings } from "../text/map-strings.ts";
import { jsonOf } from "../text/safe-json.ts";
import { tailCut } from "../text/truncate.ts";
import type { Edit, Handle, Stage } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { type CallId, type ToolPart, withText } from "../transcript/part.ts";
import { handleOf, type ToolResult, toolResults } from "../transcript/tool-results.ts";
import { filterCompacted } from "./filter-compacted.ts";
import {
  createToolGuard,
  limitProblems,
  PRUNE_PROTECT_TURNS,
  PRUNE_PROTECTED_TOOLS,
  pruneGuard,
} from "./prune-guard.ts";
import { type FileAccess, fileAccess } from "./supersede-file-access.ts";
import { createNewerResults, hasAttachments, type NewerResults } from "./supersede-newer.ts";

/**
 * Leaves a line in place of what something newer makes needless: reads of lines that were read again or of a file
 * that was written anew, outputs that are repeated later, long inputs of edits that failed. Each line names the newer one.
 */
export function supersede({
  protectTurns = PRUNE_PROTECT_TURNS,
  protectedTools = PRUNE_PROTECTED_TOOLS,
}: SupersedeOptions = {}): Stage {
  const problems = limitProblems({ protectTurns });
  if (problems.length > 0) throw new ConfigurationError(problems);
  const isProtected = createToolGuard(protectedTools);

  return (transcript) => {
    const window = filterCompacted(transcript);
    const results = resultsOnTheWire(window);
    const guarded = new Set(window.slice(pruneGuard(window, protectTurns)));
    const newer = createNewerResults(results);
    const edits: Edit[] = [];
    for (const result of results.toReversed()) {
      const { message, part } = result;
      const access = fileAccess(part);
      const mayChange = !guarded.has(message) && !isProtected(part.tool);
      const changed = mayChange ? replacement(result, access, newer) : undefined;
      newer.rememberChange(result, access);
      if (changed === undefined) newer.rememberOutput(result, access);
      else edits.push(replace(result, changed));
    }
    return edits.reverse();
  };
}

export interface SupersedeOptions {
  /** How many of the newest turns stay whole. */
  readonly protectTurns?: number;
  /** Tools whose calls are never touched; upper and lower case are the same. */
  readonly protectedTools?: readonly string[];
}

/** Strings of a failed edit's input up to this length stay: they say what was tried. */
export const SUPERSEDE_KEEP_INPUT_CHARS = 200;

/** A result without a call, or a second one for a call, is dropped before sending: it stands for nothing. */
function resultsOnTheWire(window: Transcript): readonly ToolResult[] {
  const calls = new Set<CallId>();
  return toolResults(window).filter(({ part }) => {
    if (part.callMissing || calls.has(part.callId)) return false;
    calls.add(part.callId);
    return true;
  });
}

function replacement(
  result: ToolResult,
  access: FileAccess | undefined,
  newer: NewerResults,
): ToolPart | undefined {
  if (result.status === "failed") {
    return access === undefined || access.type === "read" ? undefined : withoutInput(result, access, newer);
  }
  if (result.cleared || hasAttachments(result) || hasNothingLeft(result.part)) return undefined;
  const covering = access?.type === "read" ? newer.replacingRead(access, result) : undefined;
  if (access?.type === "read" && covering !== undefined) {
    return withStub(result, stub(covering, `read of ${shortPath(access.path)}`));
  }
  const same = newer.sameOutput(result);
  return same === undefined ? undefined : withStub(result, stub(same, `same output of ${result.part.tool}`));
}

function withStub({ part, text }: ToolResult, line: string): ToolPart | undefined {
  if (line.length >= text.length) return undefined;
  const originalChars = part.cut?.originalChars ?? text.length;
  return {
    ...part,
    outcome: withText(part.outcome, line),
    cut: { method: "head", originalChars, omittedChars: originalChars, limitChars: 0 },
  };
}

function withoutInput(
  { part }: ToolResult,
  { path, type }: Exclude<FileAccess, { type: "read" }>,
  newer: NewerResults,
): ToolPart | undefined {
  if (part.inputCut !== undefined) return undefined;
  const what = `failed ${type}${path === undefined ? "" : ` of ${shortPath(path)}`}`;
  const next = newer.nextChange(path);
  const input = mapStrings(part.input, (text) => {
    const line = next === undefined ? `[${what}: ${text.length} chars]` : stub(next, what);
    const isPath = path !== undefined && text.endsWith(path);
    return text.length > Math.max(SUPERSEDE_KEEP_INPUT_CHARS, line.length) && !isPath ? line : text;
  });
  if (input === part.input) return undefined;
  const before = jsonOf(part.input);
  const preview = jsonOf(input);
  if (before === undefined || preview === undefined || preview.length >= before.length) return undefined;
  return {
    ...part,
    input,
    inputCut: {
      method: "head",
      originalChars: before.length,
      omittedChars: before.length - preview.length,
      limitChars: preview.length,
      preview,
    },
  };
}

function stub(newer: Handle, what: string): string {
  return `[superseded by ${newer}: ${what}]`.replace(/\s+/g, " ");
}

/** The end of a path says most. */
function shortPath(path: string): string {
  if (path.length <= MAX_PATH_CHARS) return path;
  return `...${path.slice(tailCut(path, path.length - MAX_PATH_CHARS))}`;
}

const MAX_PATH_CHARS = 120;

/** True when an earlier edit left nothing of the output but a line of ours, known by what it noted. */
function hasNothingLeft({ cut }: ToolPart): boolean {
  return cut !== undefined && cut.omittedChars >= cut.originalChars;
}

function replace({ message, partIndex, part }: ToolResult, changed: ToolPart): Edit {
  const chars = omittedChars(changed) - omittedChars(part);
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: changed,
    stage: "supersede",
    reason: "superseded",
    omitted: { chars, handle: handleOf(message, partIndex) },
  };
}

function omittedChars({ cut, inputCut }: ToolPart): number {
  return (cut?.omittedChars ?? 0) + (inputCut?.omittedChars ?? 0);
}
