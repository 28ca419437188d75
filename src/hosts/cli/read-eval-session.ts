import { gunzipSync } from "node:zlib";
import { type EvalSession, workingDirectoryOf } from "../../eval/eval-session.ts";
import { linesInFileOrder } from "../../eval/lines-in-file-order.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import { formatOf } from "../../formats/format-of.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import type { Transcript } from "../../transcript/message.ts";

/** A session to measure on, or why there is none in a file. */
export type EvalSessionFile =
  | { readonly status: "read"; readonly session: EvalSession }
  | { readonly status: "unreadable"; readonly reason: string };

/** `file`: all branches of a session, in the order in which they were written. `live`: the one it would go on with. */
export type EvalBranches = "file" | "live";

export interface ReadEvalSessionOptions {
  /** What the session is called in reports. */
  readonly name: string;
  readonly branches: EvalBranches;
}

/** Reads a session from the bytes of a transcript file of any known format, gzipped or not. */
export async function readEvalSession(
  bytes: Uint8Array,
  { name, branches }: ReadEvalSessionOptions,
): Promise<EvalSessionFile> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const file = await readTranscript(isGzip ? gunzipSync(bytes) : bytes);
  if (file.format === "unknown") return { status: "unreadable", reason: file.reason };
  const { format, wire } = file;
  const transcript = (branches === "file" ? allBranches(format, wire) : undefined) ?? file.transcript;
  const workingDirectory = workingDirectoryOf(wire);
  return {
    status: "read",
    session: { name, format, transcript, ...(workingDirectory !== undefined && { workingDirectory }) },
  };
}

function allBranches(format: FormatName, wire: unknown): Transcript | undefined {
  if ((format !== "claude-code" && format !== "pi") || !Array.isArray(wire)) return undefined;
  return formatOf(format)?.decode(linesInFileOrder(wire));
}
