import { open } from "node:fs/promises";
import { fields, stringField } from "../../../formats/fields.ts";
import { DEFAULT_TOOL_OUTPUT_LIMITS } from "../../../tool-output/tool-output-limits.ts";
import { truncateToolContent } from "../../../tool-output/truncate-tool-content.ts";
import type { Feature } from "../combine-hooks.ts";
import { isOwnTool } from "../own-tools.ts";
import type { PluginContext } from "../plugin-context.ts";

/**
 * Bounds every tool output as it comes in: head and tail stay, the whole of it is kept under a handle. Where the host has
 * cut first, its own file is cut again, since it keeps only the head.
 */
export function createBoundToolOutput(context: PluginContext): Feature {
  const { options, spills } = context;
  if (options.toolOutput === false || options.profile === "documented")
    return { name: "tool output", hooks: {} };
  const limits = { ...DEFAULT_TOOL_OUTPUT_LIMITS, ...options.toolOutput };
  return {
    name: "tool output",
    hooks: {
      "tool.execute.after": async ({ tool, sessionID, callID }, output) => {
        if (isOwnTool(tool) || typeof output.output !== "string") return;
        const whole = (await wholeOutput(output.metadata)) ?? output.output;
        const { blocks, truncated, by, handle, stats } = await truncateToolContent(
          [{ type: "text", text: whole }],
          limits,
          spills,
        );
        if (!truncated) return;
        const text = blocks.flatMap((block) => ("text" in block ? [block.text] : [])).join("");
        output.output = text;
        output.metadata = { ...fields(output.metadata), truncated: true, carryover: { handle, by } };
        context.record(sessionID, {
          type: "tool-output",
          tool,
          callId: callID,
          by,
          handle,
          shownChars: stats.chars.shown,
          totalChars: stats.chars.total,
        });
      },
    },
  };
}

/** What the tool really said, where the host cut it and kept the whole in a file. */
async function wholeOutput(metadata: unknown): Promise<string | undefined> {
  const { truncated, outputPath } = fields(metadata);
  const path = stringField(outputPath);
  if (truncated !== true || path === undefined) return undefined;
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    return size > MAX_WHOLE_BYTES ? undefined : await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** A longer file stays as the host cut it: reading it would hold up the agent. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
