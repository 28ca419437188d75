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
 * Compaction, which OpenCode 2 lets a plugin take over. GA asks the hook `compaction`, whose `result.summary` makes its request
 * needless; in the snapshot there is no such hook, and the request itself is answered in the provider's place. Where the plugin
 * has no summary, or the wire is not known, the host asks its model as it always does.
 */
export function createCompactionHooks({ plugin, reader }: CompactionSetup): CompactionHooks {
  /** The sessions whose compaction GA's hook has left to the host: its request comes next. */
  const left = new Set<string>();

  /** The window as it would be sent now. What the events of a compaction show is only the part that the host sums up. */
  const windowOf = (sessionId: string) => () => inTime(reader.read(sessionId), HOOK_MS);

  const textsFor = (sessionId: string) => inTime(plugin.beforeCompaction({ sessionId }), HOOK_MS);

  return {
    async onCompaction(event) {
      const { sessionID: sessionId } = event;
      const model = modelOf(event.model);
      const compacted = await plugin.compact({ sessionId, model, messages: windowOf(sessionId) });
      if (compacted !== undefined) {
        event.result = { summary: compacted.summary };
        return;
      }
      left.add(sessionId);
      const texts = await textsFor(sessionId);
      event.system?.push(...texts.map((text) => ({ type: "text", text })));
    },
    async onRequest(event) {
      const { sessionID: sessionId, request } = event;
      // GA says of what kind a request is; in the snapshot a hidden agent asks.
      if (event.kind !== "compaction" && event.agent !== "compaction") return;
      if (left.delete(sessionId)) return;
      const body = asObject(JSON.parse(await request.clone().text()));
      const wire = wireOf(request.url, body);
      if (wire === undefined) return;
      const model = modelOf(event.model);
      const asked = summarizerInWire(wire, { request, body });
      const { summarizer } = asked;
      const compacted = await plugin.compact({
        sessionId,
        model,
        messages: windowOf(sessionId),
        summarizer,
      });
      if (compacted !== undefined) {
        const text = `${HEADING}\n\n${compacted.summary}`;
        event.request = answeredBy(wire, { text, body, usage: asked.usage() });
        return;
      }
      const texts = await textsFor(sessionId);
      const edited = texts.length === 0 ? undefined : withPromptText(wire, body, texts.join("\n\n"));
      if (edited !== undefined) event.request = new Request(request, { body: JSON.stringify(edited) });
    },
  };
}

interface CompactionSetup {
  readonly plugin: Pick<AgentPlugin, "compact" | "beforeCompaction">;
  readonly reader: Pick<SessionReader, "read">;
}

interface CompactionHooks {
  /** GA. Known from its types alone: never seen in the running program. */
  onCompaction(event: CompactionEvent): Promise<void>;
  onRequest(event: CompactionRequest): Promise<void>;
}

/** GA: the request for a summary; with a result none is sent. */
export interface CompactionEvent {
  readonly sessionID: string;
  readonly model?: unknown;
  readonly system?: unknown[];
  result?: { readonly summary: string };
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
