import { setTimeout as sleep } from "node:timers/promises";
import { tailOf } from "../../agents/files/file-end.ts";
import type { HookOutput, HookWords } from "../../agents/hooks/hook-agent.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/** What Codex takes for an answer, as measured on 0.166.0; it takes no text for its request for a summary. */
export const codexWords: HookWords = {
  name: "codex",
  readOutput,
  addContext: (hookEventName, additionalContext) =>
    JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } }),
  // The hook asks for room by `additionalContextLimit`, in tokens.
  context: { maxChars: 28_000, hooks: 1 },
};

/**
 * An output is replaced by a text, of whatever shape it was. What the hook is given of a command lacks its exit code, which the
 * text must say: it is read from the session's file, in which the command was noted before. A command that is not found there
 * stays as it is. Of a long output the hook is given both ends, and nothing else has the middle either.
 */
function readOutput(payload: UnknownObject): HookOutput | undefined {
  const { tool_name, tool_use_id, tool_response, transcript_path } = payload;
  const call = {
    tool: asString(tool_name) ?? "",
    callId: asString(tool_use_id) ?? "",
    maxBytes: REASON_BYTES,
  };
  if (typeof tool_response === "string") {
    const text = tool_response;
    let exitCode: number | undefined;
    return {
      ...call,
      text,
      async whole() {
        exitCode = await findExitCode(asString(transcript_path), call.callId);
        return { text };
      },
      replace: (shown) =>
        exitCode === undefined
          ? undefined
          : replace(`Process exited with code ${exitCode}\nOutput:\n${shown}`),
    };
  }
  const text = textOf(tool_response);
  if (text === undefined) return undefined;
  return { ...call, ...shownOf(text), whole: async () => ({ text }), replace };
}

/** A longer answer of a hook than 2,500 tokens, of four bytes each, is cut by Codex and put into a file. */
const REASON_BYTES = 9_800;

const replace = (reason: string): string =>
  JSON.stringify({ continue: false, stopReason: "Trimmed by Carryover", reason });

/** Of a longer one the model is shown both ends. */
function shownOf(text: string): Pick<HookOutput, "text" | "noticeChars"> {
  return text.length > SHOWN_CHARS ? { text: text.slice(0, SHOWN_CHARS), noticeChars: 0 } : { text };
}

const SHOWN_CHARS = 40_000;

/** How a command ended, by the newest lines of a session's file, where that may stand a moment later. */
async function findExitCode(path: string | undefined, callId: string): Promise<number | undefined> {
  for (let tries = 0; path !== undefined && tries < MAX_TRIES; tries += 1) {
    if (tries > 0) await sleep(PAUSE_MS);
    const lines = tailOf(path, TAIL_BYTES).split("\n").toReversed();
    const found = lines.find(
      (line) => line.includes('"CommandExecution"') && line.includes(`"id":"${callId}"`),
    );
    if (found !== undefined) return exitCodeIn(found);
  }
  return undefined;
}

const MAX_TRIES = 5;
const PAUSE_MS = 15;

function exitCodeIn(line: string): number | undefined {
  try {
    return asNumber(asObject(asObject(asObject(JSON.parse(line)).payload).item).exit_code);
  } catch {
    // The tail may begin in the middle of it.
    return undefined;
  }
}

const TAIL_BYTES = 1024 * 1024;

/** The text of an answer over MCP; undefined where it holds anything else, which a text cannot replace. */
function textOf(response: unknown): string | undefined {
  const blocks = asArray(asObject(response).content).map(asObject);
  if (blocks.length === 0 || blocks.some(({ type, text }) => type !== "text" || typeof text !== "string"))
    return undefined;
  return blocks.map(({ text }) => String(text)).join("\n");
}
