import { maybeSummarizeToolResults } from "../compaction/maybe-summarize-tool-results.ts";
import type { Edit } from "../transcript/edit.ts";
import type { SessionCore } from "./session-core.ts";
import { isStillSo } from "./still-so.ts";

/** Asks for summaries of old tool results, or takes those that have arrived; told by a start and an end. */
export async function runToolSummaries(
  core: SessionCore,
  signal: AbortSignal,
  apply: (edits: readonly Edit[], degraded: boolean) => boolean,
): Promise<"applied" | "nothing" | "aborted"> {
  const { memory, line, log, options, ports } = core;
  const transcript = line.transcript();
  log.emit({ type: "tool_summary_start", visibleResults: core.results.visibleResults() });
  let ended: Ended = { archivedResults: 0, error: "failed" };
  try {
    const { redaction, summarizer, pins } = options;
    const { edits, pending, degraded } = await maybeSummarizeToolResults(transcript, {
      settings: {
        ...memory.settings,
        ...(redaction !== "off" && { redact: redaction }),
        ...(pins && { pins }),
        ...(summarizer?.model && { model: summarizer.model }),
      },
      summarizer: ports.summarizer,
      clock: ports.clock,
      signal,
      pending: memory.pendingSummaries,
    });
    if (signal.aborted) {
      ended = { archivedResults: 0, error: "aborted" };
      return "aborted";
    }
    memory.pendingSummaries = pending;
    const isApplied = apply(isStillSo(edits, transcript, line.transcript()) ? edits : [], degraded);
    const archived = isApplied ? edits.filter((edit) => edit.reason === "archived") : [];
    ended = { archivedResults: archived.length, ...(degraded && { degraded }) };
    return isApplied ? "applied" : "nothing";
  } finally {
    log.emit({ type: "tool_summary_end", ...ended });
  }
}

interface Ended {
  readonly archivedResults: number;
  readonly error?: string;
  readonly degraded?: true;
}
