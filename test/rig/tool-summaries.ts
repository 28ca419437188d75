import {
  type MaybeSummarizeOptions,
  maybeSummarizeToolResults,
  type SummarizedToolResults,
} from "../../src/compaction/tool-summaries/maybe-summarize-tool-results.ts";
import type { Edit } from "../../src/transcript/edit.ts";
import type { Message, Transcript } from "../../src/transcript/message.ts";
import type { ToolPart } from "../../src/transcript/part.ts";
import { createFakeClock, createFakeSummarizer } from "./fakes.ts";
import { deepFreeze, transcript } from "./notation.ts";

/** A frozen history in the one-line notation. */
export const history = (notation: string): Transcript => deepFreeze(transcript(notation));

/** A turn with so many tool results, all of them read by the model. */
export const loop = (results: number): Transcript => history(`u:1 ${"a(x:900) ".repeat(results)}a:1`);

/** Sums up tool results with a cutoff of 2 and a summarizer that answers "short". */
export const run = (
  before: Transcript,
  change: Partial<MaybeSummarizeOptions> = {},
): Promise<SummarizedToolResults> =>
  maybeSummarizeToolResults(before, {
    settings: { toolCallCutoff: 2, mode: "sync" },
    summarizer: createFakeSummarizer("short"),
    clock: createFakeClock(),
    signal: new AbortController().signal,
    ...change,
  });

export const background = { toolCallCutoff: 10, mode: "background" } as const;

export const summaries = (messages: Transcript): readonly Message[] =>
  messages.filter(({ metadata }) => metadata?.kind === "tool_summary" && metadata.agentVisible !== false);

export const summaryText = (message: Message | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n");

export const toolParts = (messages: Transcript): readonly ToolPart[] =>
  messages.flatMap((message) => message.parts.filter((part) => part.type === "tool"));

/** The documented kind of a result. */
export const toolResultKind = (part: ToolPart): "tool_result" | "tool_result_archived" =>
  part.cut?.archivedAs === undefined ? "tool_result" : "tool_result_archived";

export const archived = (messages: Transcript): number =>
  toolParts(messages).filter((part) => toolResultKind(part) === "tool_result_archived").length;

export const handlesOf = (edits: readonly Edit[]): readonly (string | undefined)[] =>
  edits.filter((edit) => edit.type === "replace-part").map((edit) => edit.omitted?.handle);
