import { redactionOf } from "../../plugin/context/context.ts";
import { endsOf, inPieces, type SummedUp, shadowOf, textToPutBack } from "../../plugin/window/put-back.ts";
import { cleanSpills } from "../../stores/files/clean-spills.ts";
import { asNumber, asString } from "../../text/unknown-value.ts";
import { isSummary, type Transcript } from "../../transcript/message.ts";
import { decodeLines, readLines } from "../files/session-lines.ts";
import { foldersOf, type HookSession, notePlace, openOutputs, record, textsOf } from "./hook-session.ts";
import { writeNote } from "./summary-note.ts";

/**
 * The moments of a hook that read the whole session. This one works out what will be put back, and keeps a shadow, while the
 * agent sums up.
 */
export async function prepareSummary(session: HookSession): Promise<void> {
  const { payload, log } = session;
  const bytes = asNumber(payload.session_bytes) ?? 0;
  const summed = await readSummed(session, bytes);
  if (summed === undefined) return;
  const words = wordsOf(summed.transcript);
  const all = await piecesOf(session, { ...summed, heldIn: "" });
  const others = await piecesOf(session, { ...summed, heldIn: words.join("\n") });
  writeNote(notePlace(session), { bytes, words, all, others });
  const shadow = await shadowOf(summed, Date.now());
  if (shadow === undefined) return;
  const kept = await (await openOutputs(session)).put(shadow);
  if (kept.status === "failed") return log("warn", `no shadow of a compaction: ${kept.reason}`);
  const { handle, path } = kept;
  const trigger = asString(payload.trigger) ?? "auto";
  record(session, { type: "shadow", trigger, handle, path, chars: shadow.length });
}

/** What is put back where nothing was prepared. */
export async function workedOutPieces(session: HookSession): Promise<readonly string[]> {
  const summed = await readSummed(session);
  return summed === undefined ? [] : piecesOf(session, summed);
}

async function piecesOf({ agent }: HookSession, summed: SummedUp): Promise<readonly string[]> {
  const { maxChars, hooks } = agent.context;
  return inPieces(await textToPutBack(summed, { maxChars: (maxChars - SEAM_CHARS) * hooks }), maxChars);
}

/** What cutting between lines may leave unused of a hook. */
const SEAM_CHARS = 1_000;

/** The session, or what it was when it had so many bytes. */
async function readSummed(session: HookSession, bytes?: number): Promise<SummedUp | undefined> {
  const { loadAgent, file, directory, options } = session;
  if (file === undefined || bytes === 0) return undefined;
  const agent = await loadAgent();
  const lines = await readLines(file, { end: bytes });
  const transcript = decodeLines(agent, lines);
  const isCompacted = transcript.some(({ parts }) => parts.some(({ type }) => type === "compaction"));
  return {
    transcript,
    heldIn: isCompacted ? textsOf(decodeLines(agent, agent.windowOf(lines))) : "",
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
  const cleaned = await cleanSpills({ root: foldersOf(session).spill });
  if (cleaned.status === "failed") session.log("warn", `nothing cleaned: ${cleaned.reason}`);
}
