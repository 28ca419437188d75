import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { detectFormat } from "../../formats/detect-format.ts";
import { formatOf } from "../../formats/read-transcript.ts";
import { createSession } from "../../session/session.ts";
import { isStoredBatch, type StoredState } from "../../session/stored-state.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { plural } from "../../text/format-number.ts";
import { jsonOrText } from "../../text/json.ts";
import { asObject, isObject } from "../../text/unknown-value.ts";
import type { Transcript } from "../../transcript/message.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import type { SessionFile } from "../sessions/open-session.ts";
import type { Finding } from "./lines/session-lines.ts";

/** What is wrong with the states of sessions that a JSON document holds, and where one without that was written. */
export interface RescuedStates {
  readonly status: "rescued" | "broken" | "healthy";
  readonly findings: readonly Finding[];
  readonly states: number;
  readonly sizeBytes: number;
  /** The new document; unset where nothing was written. */
  readonly path?: string;
}

/**
 * The states that frameworks keep beside their messages: what `session.toJSON()` gave, alone or inside a document, as the
 * AI SDK, LangChain and OpenClaw have them. Those of earlier versions do not say what thoughts are bound to. Where the
 * messages stand beside a state, a copy of the document is written that does. Undefined for any other file.
 */
export async function rescueStates(
  { path, name, isPiped }: SessionFile,
  { dryRun }: { readonly dryRun?: true } = {},
): Promise<RescuedStates | undefined> {
  const text = await readText(path);
  const document = jsonOrText(text);
  const found = statesIn(document);
  if (found.length === 0) return undefined;
  const unbound = found.filter(({ state }) => state.batches.length > 0 && state.thoughts === undefined);
  const bound = new Map<object, StoredState>();
  const findings: Finding[] = [];
  for (const { state, messages } of unbound) {
    const known = messages === undefined ? undefined : await bindState(state, messages);
    if (known !== undefined) bound.set(state, known);
    const edits = plural(state.batches.length, "step");
    const advice = known === undefined ? "; this version leaves them out when it restores the state" : "";
    findings.push({
      problem: "stale-thoughts",
      severity: "broken",
      text: `a state with ${edits} of an earlier version, which kept thoughts behind its edits: newest Claude models refuse those${advice}`,
    });
  }
  const base = { findings, states: found.length, sizeBytes: Buffer.byteLength(text) };
  if (unbound.length === 0) return { ...base, status: "healthy" };
  if (bound.size === 0 || dryRun || isPiped) return { ...base, status: "broken" };
  const written = freePath(name);
  await writeFileAtomic(written, `${JSON.stringify(replaced(document, bound))}\n`, { mode: 0o600 });
  return { ...base, status: "rescued", path: written };
}

/** A file that may be one JSON value; an empty text for any other. */
async function readText(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true || found.size > MAX_BYTES) return "";
  return readFile(path, "utf8").catch(() => "");
}

const MAX_BYTES = 64 * 1024 * 1024;

interface FoundState {
  readonly state: StoredState;
  /** The messages beside it, of whatever is nearest. */
  readonly messages: readonly unknown[] | undefined;
}

function statesIn(value: unknown, { messages, depth = 0 }: Around = {}): readonly FoundState[] {
  if (isState(value)) return [{ state: value, messages }];
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return [];
  const own = asObject(value).messages;
  const around = { messages: Array.isArray(own) ? own : messages, depth: depth + 1 };
  return Object.entries(value).flatMap(([key, each]) => (key === "messages" ? [] : statesIn(each, around)));
}

interface Around {
  readonly messages?: readonly unknown[] | undefined;
  readonly depth?: number;
}

/** A state stands near the top of whatever keeps it. */
const MAX_DEPTH = 8;

function isState(value: unknown): value is StoredState {
  if (!isObject(value) || (value.v !== 1 && value.v !== 2 && value.v !== 3)) return false;
  return Array.isArray(value.batches) && value.batches.every(isStoredBatch);
}

/** The state with what the thoughts of its messages are bound to; undefined where these are not its messages. */
async function bindState(state: StoredState, messages: readonly unknown[]): Promise<StoredState | undefined> {
  const { format } = detectFormat({ type: "document", value: messages });
  if (format === "unknown") return undefined;
  const transcript: Transcript = formatOf(format).decode(messages);
  const session = createSession({ clock: createSystemClock() });
  const { dropped, batches } = await session.restore(transcript, state);
  const { thoughts } = session.toJSON();
  return dropped > 0 || batches === 0 || thoughts === undefined ? undefined : { ...state, thoughts };
}

function replaced(value: unknown, states: ReadonlyMap<object, StoredState>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const state = states.get(value);
  if (state !== undefined) return state;
  if (Array.isArray(value)) return value.map((each) => replaced(each, states));
  const entries = Object.entries(value).map(([key, each]) => [key, replaced(each, states)]);
  return Object.fromEntries(entries);
}

/** A name beside the document that nothing has yet. */
function freePath(path: string): string {
  const stem = path.replace(/\.json$/, "");
  for (let number = 1; ; number++) {
    const free = `${stem}.rescued${number === 1 ? "" : `-${number}`}.json`;
    if (!existsSync(free)) return free;
  }
}
