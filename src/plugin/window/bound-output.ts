import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { boundToolOutput } from "../../tool-output/truncate-tool-content.ts";
import type { PluginContext } from "../context/context.ts";
import type { Feature } from "../host/features.ts";

/**
 * Bounds every tool output before the model reads it: head and tail stay, the whole of it is kept under a handle. Where the
 * agent has cut the output already, the whole is cut again, since agents keep only one end.
 */
export function createBoundToolOutput(context: PluginContext): Feature {
  const { options, spills } = context;
  const name = "tool output";
  if (options.toolOutput === false || options.profile === "documented") return { name };
  const limits = options.toolOutput;
  return {
    name,
    async afterTool(finished) {
      const { tool, sessionId, callId, text: shown } = finished;
      if (isOwnTool(tool) || shown === undefined) return undefined;
      const whole = await finished.whole();
      const { text, truncated, by, handle, stats, cut } = await boundToolOutput(whole, {
        limits,
        store: spills,
      });
      if (!truncated) return whole === shown ? undefined : { type: "replace", text: whole };
      context.record(sessionId, {
        type: "tool-output",
        tool,
        callId,
        by,
        handle,
        shownChars: stats.chars.shown,
        totalChars: stats.chars.total,
      });
      return { type: "replace", text, spilled: { handle, by, ...(cut && { cut }) } };
    },
  };
}

/** True for a tool that the plugin adds: what it says is bounded where it is made. */
export function isOwnTool(tool: string): boolean {
  return FORK_OWN_TOOLS.includes(tool);
}
