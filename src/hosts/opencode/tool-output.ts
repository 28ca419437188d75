import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { FinishedTool, ToolOutputChange, WholeOutput } from "../../plugin/host/agent-host.ts";
import { asObject, asString } from "../../text/json.ts";
import type { ToolDoneInput, ToolOutput } from "./hooks.ts";
import { carryoverNote } from "./messages.ts";

/** A tool output of OpenCode as the plugin sees it; tools of other servers give outputs that are no text. */
export function finishedTool({ tool, sessionID, callID }: ToolDoneInput, output: ToolOutput): FinishedTool {
  return {
    sessionId: sessionID,
    callId: callID,
    tool,
    get text() {
      return typeof output.output === "string" ? output.output : undefined;
    },
    whole: () => wholeOutput(output),
  };
}

/** Writes a change into the output. Where fork results were added stands in the metadata, under the name `ride`. */
export function changeToolOutput(output: ToolOutput, change: ToolOutputChange): void {
  const metadata = asObject(output.metadata);
  if (change.type === "append") {
    const ride = { offset: output.output.length, length: change.text.length };
    output.metadata = { ...metadata, carryover: { ...carryoverNote(metadata), ride } };
    output.output += change.text;
    return;
  }
  output.output = change.text;
  if (change.spilled !== undefined)
    output.metadata = { ...metadata, truncated: true, carryover: change.spilled };
}

/** What the tool really said, with what OpenCode says of it. Its file lies where OpenCode lets every agent read. */
async function wholeOutput({ output, metadata }: ToolOutput): Promise<WholeOutput> {
  const kept = await keptByHost(metadata);
  return kept === undefined ? { text: output } : { ...kept, text: kept.text + hostNote(output) };
}

/** OpenCode's words behind the output of a command, such as that its time was up: its file does not have them. */
function hostNote(output: string): string {
  const start = output.endsWith(NOTE_END) ? output.lastIndexOf(NOTE_START) : -1;
  return start === -1 ? "" : output.slice(start);
}

const NOTE_START = "\n\n<shell_metadata>\n";
const NOTE_END = "\n</shell_metadata>";

/** The whole of an output that OpenCode cut and kept in a file. */
async function keptByHost(metadata: unknown): Promise<Required<WholeOutput> | undefined> {
  const { truncated, outputPath } = asObject(metadata);
  const path = asString(outputPath);
  // The path came with the result of a tool: it must not make us read any other file for it.
  if (truncated !== true || path === undefined || basename(dirname(path)) !== HOST_FOLDER) return undefined;
  const text = await readHostFile(path);
  return text === undefined ? undefined : { text, path };
}

/** The whole of a command's output from the host's file, with what the host says behind its own notice of the cut. */
export async function wholeFromFile(path: string, shown: string, noticeEnd: number): Promise<WholeOutput> {
  const text = await readHostFile(path);
  return text === undefined ? { text: shown } : { text: text.trimEnd() + shown.slice(noticeEnd), path };
}

/** A file that the host wrote; undefined for anything else, and for one that would take long to read. */
async function readHostFile(path: string): Promise<string | undefined> {
  const file = await open(path, READ_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size <= MAX_WHOLE_BYTES ? await file.readFile("utf8") : undefined;
  } finally {
    await file.close();
  }
}

/** Where OpenCode keeps what it cut. */
const HOST_FOLDER = "tool-output";

// Neither a link nor a pipe; Windows has no such flags.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 }: Partial<typeof constants> = constants;
const READ_FLAGS = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** A longer file stays as OpenCode cut it: reading it would hold up the agent. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** The files that a patch names. */
export function patchedFiles(patchText: unknown): readonly string[] {
  return [...(asString(patchText) ?? "").matchAll(PATCHED_FILE)].map((match) => (match[1] ?? "").trim());
}

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;
