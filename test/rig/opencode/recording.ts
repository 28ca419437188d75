import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionExport } from "../../../src/formats/wires/opencode/decode-messages.ts";
import type { Lane } from "../model-server/wire.ts";
import type { StoredMessage } from "./opencode-client.ts";
import { runOpenCode } from "./run-opencode.ts";
import type { Sandbox } from "./sandbox.ts";

/** What one real session stored, and what the model was really sent for it. */
export interface Recording {
  readonly about: string;
  readonly opencodeVersion: string;
  readonly messages: readonly StoredMessage[];
  readonly requests: readonly RecordedRequest[];
}

/** One request to the model; long texts in it are digested, the system prompt is replaced by its length. */
export interface RecordedRequest {
  readonly lane: Lane;
  readonly model: string;
  /** The assistant message that was stored for the answer to this request. */
  readonly answeredBy: string;
  readonly messages: readonly ChatMessage[];
}

/** A message of the chat completions wire. */
export interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly reasoning_content?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly ChatToolCall[];
}

export interface ChatToolCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Replaces every long text by its beginning, its length and its hash: equal texts stay equal, files stay small. */
export function digestLongTexts<T>(value: T): T {
  if (typeof value === "string") return digest(value) as T;
  if (Array.isArray(value)) return value.map(digestLongTexts) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, digestLongTexts(each)])) as T;
}

const LONGEST_WHOLE_TEXT_CHARS = 300;
const SHOWN_CHARS = 60;

function digest(text: string): string {
  if (text.length <= LONGEST_WHOLE_TEXT_CHARS) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `${text.slice(0, SHOWN_CHARS)}… (${text.length} chars, sha256 ${hash})`;
}

/**
 * Imports whole sessions and gives their ids: the first with `opencode import`, which takes seconds, and the others as
 * the rows that it would write, all in one process. OpenCode may be running or not.
 */
export async function importSessions({ binary, sandbox, sessions }: Import): Promise<readonly string[]> {
  const folder = mkdtempSync(join(sandbox.root, "sessions-"));
  const files = sessions.map((session, index) => {
    const file = join(folder, `${index}.json`);
    writeFileSync(file, JSON.stringify(session));
    return file;
  });
  const [first, ...others] = files;
  if (first === undefined) return [];
  await succeed({ binary, sandbox, args: ["import", first] });
  if (others.length > 0) {
    const database = join(sandbox.home, ".local", "share", "opencode", "opencode.db");
    const script = join(import.meta.dirname, "insert-sessions.mjs");
    // The binary carries Bun, and Bun carries SQLite: nothing more is needed.
    await succeed({
      binary,
      sandbox,
      args: ["run", script, database, ...files],
      env: { ...sandbox.env, BUN_BE_BUN: "1" },
    });
  }
  return sessions.map(({ info }) => info.id ?? "");
}

export interface Import {
  readonly binary: string;
  readonly sandbox: Sandbox;
  readonly sessions: readonly SessionExport[];
}

async function succeed(command: Parameters<typeof runOpenCode>[0]): Promise<void> {
  const { code, stdout, stderr } = await runOpenCode(command);
  if (code !== 0) throw new Error(`The import ended with code ${code}: ${(stdout + stderr).slice(-1_000)}`);
}
