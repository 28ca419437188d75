import { HOOK_MS } from "../../agents/guarded-hook.ts";
import { inTime } from "../../agents/in-time.ts";
import type { AgentPlugin } from "../../plugin/host/agent-host.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { HttpEvent } from "./cache-owner.ts";
import { HEADING } from "./checkpoints.ts";
import { modelOf } from "./model-list.ts";
import type { SessionReader } from "./session-reader.ts";
import { answeredBy, summarizerInWire, wireOf, withPromptText } from "./summary-in-wire.ts";

/**
 * Compaction, which OpenCode 2 lets a plugin take over: its request for a summary is answered in the provider's place. Where
 * the plugin has no summary, or the wire is not known, the host asks its model as it always does. Gives what a request is put
 * through.
 */
export function answerCompactions({
  plugin,
  reader,
}: CompactionSetup): (event: CompactionRequest) => Promise<void> {
  return async (event) => {
    const { sessionID: sessionId, request } = event;
    // GA says of what kind a request is; in the snapshot a hidden agent asks.
    if (event.kind !== "compaction" && event.agent !== "compaction") return;
    const body = asObject(JSON.parse(await request.clone().text()));
    const wire = wireOf(request.url, body);
    if (wire === undefined) return;
    const asked = summarizerInWire(wire, { request, body });
    const compacted = await plugin.compact({
      sessionId,
      model: modelOf(event.model),
      // The window as it would be sent now: the request holds only the part that the host sums up.
      messages: () => inTime(reader.read(sessionId), HOOK_MS),
      summarizer: asked.summarizer,
    });
    if (compacted !== undefined) {
      const text = `${HEADING}\n\n${compacted.summary}`;
      event.request = answeredBy(wire, { text, body, usage: asked.usage() });
      return;
    }
    const texts = await inTime(plugin.beforeCompaction({ sessionId }), HOOK_MS);
    const edited = texts.length === 0 ? undefined : withPromptText(wire, body, texts.join("\n\n"));
    if (edited !== undefined) event.request = new Request(request, { body: JSON.stringify(edited) });
  };
}

interface CompactionSetup {
  readonly plugin: Pick<AgentPlugin, "compact" | "beforeCompaction">;
  readonly reader: Pick<SessionReader, "read">;
}

export interface CompactionRequest extends HttpEvent {
  /** Snapshot. */
  readonly agent?: string;
  /** GA. */
  readonly kind?: string;
  readonly model?: unknown;
}

/** A model may write for minutes; everything else in a compaction has limits of its own. */
export const COMPACTION_MS: number = 5 * 60_000;
