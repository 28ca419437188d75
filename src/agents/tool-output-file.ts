import { constants } from "node:fs";
import type { WholeOutput } from "../plugin/host/agent-host.ts";
import { asArray, asObject } from "../text/unknown-value.ts";

/** The whole of a command's output from the host's file, with what the host says behind its own notice of the cut. */
export async function wholeFromFile(path: string, shown: string, noticeEnd: number): Promise<WholeOutput> {
  const text = await readHostFile(path);
  return text === undefined ? { text: shown } : { text: text.trimEnd() + shown.slice(noticeEnd), path };
}

/** A file that the host wrote; undefined for anything else, and for one that would take long to read. */
export async function readHostFile(path: string): Promise<string | undefined> {
  // Loaded when it is needed: a hook is a process of its own, and most of them read no such file.
  const { open } = await import("node:fs/promises");
  const file = await open(path, READ_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size <= MAX_WHOLE_BYTES ? await file.readFile("utf8") : undefined;
  } finally {
    await file.close();
  }
}

// Neither a link nor a pipe; Windows has no such flags.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 }: Partial<typeof constants> = constants;

const READ_FLAGS = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** A longer file stays as OpenCode cut it: reading it would hold up the agent. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** The text of a content that is text alone. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  const parts = asArray(content).map(asObject);
  return parts.every(({ type, text }) => type === "text" && typeof text === "string")
    ? parts.map(({ text }) => text).join("\n")
    : undefined;
}
