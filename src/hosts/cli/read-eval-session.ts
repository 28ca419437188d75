import { gunzipSync } from "node:zlib";
import { type EvalSession, workingDirectoryOf } from "../../eval/eval-session.ts";
import { readTranscript } from "../../formats/read-transcript.ts";

/** A session to measure on, or why there is none in a file. */
export type EvalSessionFile =
  | { readonly status: "read"; readonly session: EvalSession }
  | { readonly status: "unreadable"; readonly reason: string };

/** Reads a session from the bytes of a transcript file of any known format, gzipped or not. */
export async function readEvalSession(path: string, bytes: Uint8Array): Promise<EvalSessionFile> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const { format, reason, transcript, wire } = await readTranscript(isGzip ? gunzipSync(bytes) : bytes);
  if (format === "unknown") return { status: "unreadable", reason };
  const workingDirectory = workingDirectoryOf(wire);
  return {
    status: "read",
    session: { name: path, format, transcript, ...(workingDirectory !== undefined && { workingDirectory }) },
  };
}
