import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { FORK_OWN_TOOLS } from "../../fork/context/omit.ts";
import type { ToolOutput } from "../../hosts/opencode/hooks.ts";
import { asObject, asString } from "../../text/json.ts";
import { boundToolOutput } from "../../tool-output/truncate-tool-content.ts";
import type { PluginContext } from "../context/context.ts";
import type { Feature } from "../host/features.ts";

/**
 * Bounds every tool output as it comes in: head and tail stay, the whole of it is kept under a handle. Where the host has
 * cut first, its own file is cut again, since it keeps only the head.
 */
export function createBoundToolOutput(context: PluginContext): Feature {
  const { options, spills } = context;
  if (options.toolOutput === false || options.profile === "documented")
    return { name: "tool output", hooks: {} };
  return {
    name: "tool output",
    hooks: {
      "tool.execute.after": async ({ tool, sessionID, callID }, output) => {
        if (isOwnTool(tool) || typeof output.output !== "string") return;
        const whole = await wholeOutput(output);
        const { text, truncated, by, handle, stats, cut } = await boundToolOutput(whole, {
          ...(options.toolOutput && { limits: options.toolOutput }),
          ...(spills && { store: spills }),
        });
        if (!truncated) {
          output.output = whole;
          return;
        }
        output.output = text;
        output.metadata = {
          ...asObject(output.metadata),
          truncated: true,
          carryover: { handle, by, ...(cut && { cut }) },
        };
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

/** What the tool really said, with what the host says of it. */
async function wholeOutput({ output, metadata }: ToolOutput): Promise<string> {
  const kept = await keptByHost(metadata);
  return kept === undefined ? output : kept + hostNote(output);
}

/** The host's words behind the output of a command, such as that its time was up: its file does not have them. */
function hostNote(output: string): string {
  const start = output.endsWith(NOTE_END) ? output.lastIndexOf(NOTE_START) : -1;
  return start === -1 ? "" : output.slice(start);
}

const NOTE_START = "\n\n<shell_metadata>\n";
const NOTE_END = "\n</shell_metadata>";

/** The whole of an output that the host cut and kept in a file. */
async function keptByHost(metadata: unknown): Promise<string | undefined> {
  const { truncated, outputPath } = asObject(metadata);
  const path = asString(outputPath);
  // The path came with the result of a tool: it must not make us read any other file for it.
  if (truncated !== true || path === undefined || basename(dirname(path)) !== HOST_FOLDER) return undefined;
  const file = await open(path, READ_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size <= MAX_WHOLE_BYTES ? await file.readFile("utf8") : undefined;
  } finally {
    await file.close();
  }
}

/** Where the host keeps what it cut. */
const HOST_FOLDER = "tool-output";

// Neither a link nor a pipe; Windows has no such flags.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 }: Partial<typeof constants> = constants;
const READ_FLAGS = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** A longer file stays as the host cut it: reading it would hold up the agent. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** True for a tool that the plugin adds; what it says is bounded where it is made. */
export function isOwnTool(tool: string): boolean {
  return FORK_OWN_TOOLS.includes(tool);
}
