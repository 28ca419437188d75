import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { formatBytes } from "../../text/format-number.ts";
import { normalizeOutput, toWellFormed } from "../../text/normalize.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import {
  completeToolOutputLimits,
  DEFAULT_TOOL_OUTPUT_LIMITS,
  isWithinLimits,
  type ToolOutputLimits,
} from "../../tool-output/limits.ts";
import { type OutputFailure, type OutputStore, saveOutput } from "../../tool-output/output-store.ts";
import { type TextSize, textSize } from "../../tool-output/text-size.ts";

import { createTextTrimmer, type TrimmedToolOutput } from "../../tool-output/truncate-tool-content.ts";
import type { Feature, PluginContext } from "../context/context.ts";
import type { WholeOutput } from "../host/agent-host.ts";

/**
 * Trims every tool output before the model reads it: head and tail stay, the whole of it is kept under a handle. Where
 * the agent has cut the output already, the whole is cut again, since agents keep only one end. What comes out is never
 * larger than what the agent shows, a notice aside; where the whole cannot be kept, the agent's own cut stays.
 */
export function createToolOutputTrimming(context: TrimmingContext): Feature {
  const { options, outputs } = context;
  const name = "tool output";
  if (options.toolOutput === false || options.profile === "documented") return { name };
  // The agent shows as much of a very long output as of a long one: a preview would be less than without us.
  const limits = completeToolOutputLimits({ largeOutputThreshold: 0, ...options.toolOutput });
  const reportFailure = createFailureReporter(context);
  return {
    name,
    async afterTool(finished) {
      const { tool, sessionId, callId, text: shown, noticeChars, maxBytes } = finished;
      if (isOwnTool(tool) || shown === undefined) return undefined;
      const whole = await finished.whole();
      const hasRecall = () => context.host.sessions.hasTool(sessionId, "recall");
      const room = omitUndefined({ noticeChars, maxBytes });
      const trimmed = await trimShownOutput({ shown, whole, limits, store: outputs, hasRecall, ...room });
      if (trimmed.status === "as-shown") return undefined;
      if (trimmed.status === "whole") return { type: "replace", text: trimmed.text };
      if (trimmed.status === "failed") {
        reportFailure(trimmed);
        return undefined;
      }
      const { text, by, handle, stats, cut } = trimmed.output;
      context.record(sessionId, {
        type: "tool-output",
        tool,
        callId,
        by,
        handle,
        shownChars: stats.chars.shown,
        totalChars: stats.chars.total,
      });
      const kept = `${formatBytes(stats.bytes.shown)} of ${formatBytes(stats.bytes.total)}`;
      const recall = handle === undefined ? "" : `; recall ${handle.slice(0, SHOWN_HANDLE_CHARS)}…`;
      const said = `${tool}: the model reads ${kept}${recall}`;
      // Servers give one id to many calls, and each gets a line of its own.
      const key = `cut ${callId} ${context.now()}`;
      context.show({ type: "line", sessionId, callId, key, label: "cut", text: said });
      return { type: "replace", text, saved: { handle, by, ...(cut && { cut }) } };
    },
  };
}

const SHOWN_HANDLE_CHARS = 12;

/** What trimming needs of the plugin: little, so that a process that lives for one output need not set up the rest. */
export interface TrimmingContext extends Pick<PluginContext, "outputs" | "now" | "record" | "show"> {
  readonly options: Pick<PluginContext["options"], "toolOutput" | "profile">;
  readonly notify: Pick<PluginContext["notify"], "log" | "toastOnce">;
  readonly host: { readonly sessions: Pick<PluginContext["host"]["sessions"], "hasTool"> };
}

/** True for a tool that the plugin adds: what it says is trimmed where it is made. */
export function isOwnTool(tool: string): boolean {
  return FORK_OWN_TOOLS.includes(tool);
}

/** Tells the user that outputs cannot be kept, once for each reason. */
function createFailureReporter({ notify }: TrimmingContext): (failure: OutputFailure) => void {
  const reported = new Set<string>();
  return ({ code, reason }) => {
    if (reported.has(code)) return;
    reported.add(code);
    notify.log("warn", `long outputs cannot be kept and stay as the agent cut them: ${reason}`, { code });
    notify.toastOnce(`Long outputs cannot be kept (${code}). They stay as the agent cut them.`, "warning");
  };
}

/** What the model would read now, and what may become of it. */
interface ShownOutput {
  readonly shown: string;
  readonly whole: WholeOutput;
  readonly limits: ToolOutputLimits;
  readonly store: OutputStore;
  /** Whether the model can call recall. */
  readonly hasRecall: () => Promise<boolean>;
  /** As of `FinishedTool`. */
  readonly noticeChars?: number;
  readonly maxBytes?: number;
}

type TrimOutcome =
  | { readonly status: "as-shown" }
  /** All of it, as a terminal would show it. */
  | { readonly status: "whole"; readonly text: string }
  | { readonly status: "cut"; readonly output: TrimmedToolOutput }
  | OutputFailure;

/** How much longer than what the agent shows an output may become by what is said about it. */
export const NOTICE_CHARS = 400;

/** Chooses what the model reads of an output: as the agent shows it, the whole, or both ends of the whole. */
export async function trimShownOutput(given: ShownOutput): Promise<TrimOutcome> {
  const { shown, whole, limits, noticeChars = NOTICE_CHARS, maxBytes = Infinity } = given;
  const shownSize = sizeOf(shown);
  const isCutByAgent = whole.text !== shown;
  if (!isCutByAgent && isWithinLimits(shownSize, withSlack(limits))) return AS_SHOWN;

  const text = normalizeOutput(whole.text);
  // Who raises a limit wants more than the agent shows.
  const isCapped = isCutByAgent && !isRaised(limits);
  const room = isCapped ? atMost(withSlack(limits), shownSize) : withSlack(limits);
  const size = textSize(text);
  if (isWithinLimits(size, room) && size.bytes <= maxBytes)
    return { status: "whole", text: text === whole.text ? text : text + terminalNotice(whole) };

  const cut = await cutWithin({ ...given, text, isCapped });
  if (cut.failure !== undefined) return cut.failure;
  const isLonger = excessOf(cut.text, shown, noticeChars) > (isCutByAgent ? 0 : -noticeChars);
  return isLonger && !isRaised(limits) ? AS_SHOWN : { status: "cut", output: cut };
}

const AS_SHOWN = { status: "as-shown" } as const;

interface CutRequest extends ShownOutput {
  /** The whole without what a terminal would not show. */
  readonly text: string;
  readonly isCapped: boolean;
}

/** Both ends within the limits; in less than these where the notice would be too long. */
async function cutWithin(request: CutRequest): Promise<TrimmedToolOutput> {
  const { text, shown, limits, isCapped, noticeChars = NOTICE_CHARS, maxBytes = Infinity } = request;
  const store = keepOnce(request);
  const recall = (await request.hasRecall()) ? { recallTool: "recall" } : {};
  const trimTo = createTextTrimmer(text, { store, binary: "text", ...recall });
  const most = maxBytes === Infinity ? limits : atMost(limits, { chars: maxBytes, bytes: maxBytes });
  if (!isCapped && most === limits) return trimTo(limits);
  let cut = await trimTo(isCapped ? atMost(most, sizeOf(shown)) : most);
  for (let tries = 1; tries < MAX_TRIES && cut.failure === undefined; tries += 1) {
    const over = sizeOf(cut.text).bytes - maxBytes;
    const excess = isCapped ? Math.max(over, excessOf(cut.text, shown, noticeChars)) : over;
    if (excess <= 0) break;
    const { chars, bytes } = cut.stats;
    cut = await trimTo(atMost(limits, { chars: chars.shown - excess, bytes: bytes.shown - excess }));
  }
  return cut;
}

/** A character that is left out may be smaller than those that stay, so one try more is not always enough. */
const MAX_TRIES = 5;

/** A store for one output: keeps what the tool wrote, once, and names the agent's own file rather than ours, which the model may not read without asking. */
function keepOnce({ whole, store }: Pick<ShownOutput, "whole" | "store">): OutputStore {
  const keep = async (): ReturnType<OutputStore["put"]> => {
    const kept = await saveOutput(whole.text, { store });
    if (kept.status === "failed") return kept;
    const { path: _, ...rest } = kept;
    return whole.path === undefined ? rest : { ...rest, path: whole.path };
  };
  let kept: ReturnType<OutputStore["put"]> | undefined;
  return {
    put() {
      kept ??= keep();
      return kept;
    },
    get: (handle) => store.get(handle),
  };
}

/** How much larger a text is than what is shown and a notice, in the unit in which that is most. */
function excessOf(text: string, shown: string, noticeChars: number): number {
  const [is, was] = [sizeOf(text), sizeOf(shown)];
  const units = text.length - shown.length;
  return Math.max(units, is.chars - was.chars, is.bytes - was.bytes) - noticeChars;
}

function sizeOf(text: string): TextSize {
  return textSize(toWellFormed(text));
}

/** The limits, and no more characters and bytes than a size has. A limit of 0 would be none. */
function atMost(limits: ToolOutputLimits, { chars, bytes }: Omit<TextSize, "lines">): ToolOutputLimits {
  const smaller = (limit: number, most: number): number =>
    Math.max(1, limit === 0 ? most : Math.min(limit, most));
  return {
    ...limits,
    maxChars: smaller(limits.maxChars, chars),
    maxBytes: smaller(limits.maxBytes, bytes),
  };
}

/** An output that is little over a limit stays whole: a hole in it costs more than it saves. */
function withSlack(limits: ToolOutputLimits): ToolOutputLimits {
  const { maxLines, maxChars, maxBytes } = limits;
  const more = (limit: number): number => Math.floor(limit * SLACK);
  return { ...limits, maxLines: more(maxLines), maxChars: more(maxChars), maxBytes: more(maxBytes) };
}

/** So much that a page of an agent's own tool for reading files, with its line numbers, is never cut. */
const SLACK = 4 / 3;

function isRaised({ maxLines, maxChars, maxBytes }: ToolOutputLimits): boolean {
  const { maxLines: lines, maxChars: chars, maxBytes: bytes } = DEFAULT_TOOL_OUTPUT_LIMITS;
  const isMore = (limit: number, usual: number): boolean => limit === 0 || limit > usual;
  return isMore(maxLines, lines) || isMore(maxChars, chars) || isMore(maxBytes, bytes);
}

/** The line behind an output that is whole, but without what a terminal would not show. */
function terminalNotice({ path }: WholeOutput): string {
  const notice = "\n[Shown as a terminal would show it.";
  const place = path === undefined ? "]" : ` As it was written: ${path}]`;
  return notice.length + place.length <= NOTICE_CHARS ? notice + place : `${notice}]`;
}
