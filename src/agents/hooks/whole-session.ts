import { redactionOf } from "../../plugin/context/context.ts";
import {
  backupSummaryOf,
  type CompactedConversation,
  endsOf,
  inPieces,
  textToRestore,
} from "../../plugin/window/restore-after-compaction.ts";
import { cleanOutputs } from "../../stores/files/clean-outputs.ts";
import { asNumber, asString } from "../../text/unknown-value.ts";
import { isSummary, type Transcript } from "../../transcript/message.ts";
import { decodeLines, readLines } from "../files/session-lines.ts";
import { foldersOf, type HookSession, notePlace, openOutputs, record, textsOf } from "./hook-session.ts";
import { writeNote } from "./summary-note.ts";

/**
 * The moments of a hook that read the whole session. This one works out what will be restored, and keeps a backup summary, while the
 * agent sums up.
 */
export async function prepareSummary(session: HookSession): Promise<void> {
  const { payload, log } = session;
  const bytes = asNumber(payload.session_bytes) ?? 0;
  const summed = await readSummed(session, bytes);
  if (summed === undefined) return;
  const words = wordsOf(summed.transcript);
  const all = await piecesOf(session, { ...summed, stillInWindow: "" });
  const others = await piecesOf(session, { ...summed, stillInWindow: words.join("\n") });
  writeNote(notePlace(session), { bytes, words, all, others });
  const summary = await backupSummaryOf(summed, Date.now());
  if (summary === undefined) return;
  const kept = await (await openOutputs(session)).put(summary);
  if (kept.status === "failed") return log("warn", `no backup summary of a compaction: ${kept.reason}`);
  const { handle, path } = kept;
  const trigger = asString(payload.trigger) ?? "auto";
  record(session, { type: "backup-summary", trigger, handle, path, chars: summary.length });
}

/** What is restored where nothing was prepared. */
export async function workedOutPieces(session: HookSession): Promise<readonly string[]> {
  const summed = await readSummed(session);
  return summed === undefined ? [] : piecesOf(session, summed);
}

async function piecesOf({ agent }: HookSession, summed: CompactedConversation): Promise<readonly string[]> {
  const { maxChars, hooks } = agent.context;
  return inPieces(await textToRestore(summed, { maxChars: (maxChars - SEAM_CHARS) * hooks }), maxChars);
}

/** What cutting between lines may leave unused of a hook. */
const SEAM_CHARS = 1_000;

/** The session, or what it was when it had so many bytes. */
async function readSummed(session: HookSession, bytes?: number): Promise<CompactedConversation | undefined> {
  const { loadAgent, file, directory, options } = session;
  if (file === undefined || bytes === 0) return undefined;
  const agent = await loadAgent();
  const lines = await readLines(file, { end: bytes });
  const transcript = decodeLines(agent, lines);
  const isCompacted = transcript.some(({ parts }) => parts.some(({ type }) => type === "compaction"));
  return {
    transcript,
    stillInWindow: isCompacted ? textsOf(decodeLines(agent, agent.windowOf(lines))) : "",
    pin: options.pin,
    directory,
    redaction: redactionOf(options),
  };
}

/** The texts of the user; of long ones both ends. */
function wordsOf(transcript: Transcript): readonly string[] {
  const said = transcript.filter((message) => message.role === "user" && !isSummary(message));
  const texts = said.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text.trim()] : [])),
  );
  return texts.flatMap(endsOf);
}

/** Removes what was kept for too long. */
export async function cleanUp(session: HookSession): Promise<void> {
  const cleaned = await cleanOutputs({ root: foldersOf(session).outputs });
  if (cleaned.status === "failed") session.log("warn", `nothing cleaned: ${cleaned.reason}`);
}
