import { readFile, stat } from "node:fs";
import { promisify } from "node:util";
import type { HookOutput, HookWords } from "../../agents/hooks/hook-agent.ts";
import type { WholeOutput } from "../../plugin/host/agent-host.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/** What Claude Code takes for an answer, as measured on 2.1.325. */
export const claudeCodeWords: HookWords = {
  name: "claude-code",
  readOutput,
  addContext: (hookEventName, additionalContext) =>
    JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } }),
  // What is longer than 10,000 becomes a preview and a file; the limit is for each hook.
  context: { maxChars: 9_800, hooks: 3 },
  // Plain text: an answer in JSON is not added.
  instructSummary: (text) => text,
};

/**
 * An output is replaced by one of its tool's own shape; another is ignored. Files that were read are left alone: the agent
 * numbers the lines itself, and a hole would make the numbers behind it wrong.
 */
function readOutput(payload: UnknownObject): HookOutput | undefined {
  const tool = asString(payload.tool_name) ?? "";
  const response = payload.tool_response;
  const callId = asString(payload.tool_use_id) ?? "";
  if (tool === "Bash") return shellOutput(asObject(response), { tool, callId });
  if (tool.startsWith("mcp__") && Array.isArray(response))
    return blocksOutput(response, { tool, callId }, (blocks) => blocks);
  if ((tool === "Agent" || tool === "Task") && Array.isArray(asObject(response).content))
    return blocksOutput(asArray(asObject(response).content), { tool, callId }, (content) => ({
      ...asObject(response),
      content,
    }));
  return undefined;
}

interface NamedCall {
  readonly tool: string;
  readonly callId: string;
}

/** A long one is whole in a file that the answer names, and the model would be shown its beginning. */
function shellOutput(response: UnknownObject, call: NamedCall): HookOutput | undefined {
  const { stdout, isImage } = response;
  if (typeof stdout !== "string" || isImage === true) return undefined;
  const { persistedOutputPath, persistedOutputSize, ...rest } = response;
  const path = asString(persistedOutputPath);
  // With the path in it our text would be shown as the preview of that file.
  const replace = (text: string): string => updated({ ...rest, stdout: text });
  if (path === undefined) return { ...call, text: stdout, whole: async () => ({ text: stdout }), replace };
  const preview = previewOf(stdout, { path, bytes: asNumber(persistedOutputSize) ?? stdout.length });
  // It may be cut a little earlier than we know.
  const shown = preview.slice(0, -PREVIEW_MARGIN_CHARS);
  return { ...call, text: shown, whole: () => readWhole(path), path, noticeChars: 0, replace };
}

/** What the model is shown of an output in a file. */
function previewOf(
  stdout: string,
  { path, bytes }: { readonly path: string; readonly bytes: number },
): string {
  const size = `${(bytes / 1024).toFixed(1)}KB`;
  const head = stdout.slice(0, PREVIEW_CHARS);
  const lastBreak = head.lastIndexOf("\n");
  const shown = lastBreak > PREVIEW_CHARS / 2 ? head.slice(0, lastBreak) : head;
  return `<persisted-output>\nOutput too large (${size}). Full output saved to: ${path}\n\nPreview (first 2KB):\n${shown}\n...\n</persisted-output>`;
}

const PREVIEW_CHARS = 2_000;
const PREVIEW_MARGIN_CHARS = 64;

async function readWhole(path: string): Promise<WholeOutput> {
  const { size } = await promisify(stat)(path);
  if (size > MAX_READ_BYTES) throw new Error(`${size} bytes are too many to be read between two steps`);
  return { text: await promisify(readFile)(path, "utf8"), path };
}

const MAX_READ_BYTES = 32 * 1024 * 1024;

/** Texts become one block, in the place of the first; everything else stays. */
function blocksOutput(
  blocks: readonly unknown[],
  call: NamedCall,
  shape: (blocks: readonly unknown[]) => unknown,
): HookOutput | undefined {
  const isText = (block: unknown): boolean =>
    asObject(block).type === "text" && typeof asObject(block).text === "string";
  const first = blocks.findIndex(isText);
  const text = blocks.flatMap((block) => (isText(block) ? [String(asObject(block).text)] : [])).join("\n");
  // Longer ones the agent keeps in a file, unless their server asked for more room: that is not ours to take.
  if (first === -1 || text.length > MCP_WHOLE_CHARS) return undefined;
  return {
    ...call,
    text,
    whole: async () => ({ text }),
    replace: (changed) =>
      updated(
        shape(
          blocks.flatMap((block, index) => {
            if (!isText(block)) return [block];
            return index === first ? [{ ...asObject(block), text: changed }] : [];
          }),
        ),
      ),
  };
}

const MCP_WHOLE_CHARS = 50_000;

function updated(updatedToolOutput: unknown): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput } });
}
