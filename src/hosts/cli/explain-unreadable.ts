import { CliError } from "./cli-error.ts";

/** Says why a file is no transcript: it is empty, not text, cut off at a place, or JSON of another kind. */
export function explainUnreadable(bytes: Uint8Array, { name, reason }: Unreadable): CliError {
  if (bytes.subarray(0, SAMPLE_BYTES).includes(0))
    return new CliError(`${name} is not a text file`, [KNOWN_FORMATS]);
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXPLAINED_BYTES));
  if (text.trim() === "")
    return new CliError(`${name} is empty`, [
      "Write a session with `opencode export <session> > session.json`.",
    ]);
  try {
    JSON.parse(text);
  } catch (error) {
    return isEachLineJson(text)
      ? new CliError(`${name} has JSON lines, but no transcript: ${reason}`, [KNOWN_FORMATS])
      : notJson(error as Error, { name, text });
  }
  return new CliError(`${name} is JSON, but no transcript: ${reason}`, [KNOWN_FORMATS]);
}

interface Unreadable {
  readonly name: string;
  readonly reason: string;
}

const KNOWN_FORMATS =
  "Expected a session of OpenCode (export), Claude Code, Codex, pi, SWE-agent or Gemini CLI, or messages of the Anthropic, OpenAI, Gemini or AI SDK API.";
const SAMPLE_BYTES = 4096;
/** More text than this is not decoded only to name a place in it. */
const MAX_EXPLAINED_BYTES = 256 * 1024 * 1024;

function isEachLineJson(text: string): boolean {
  const lines = text.slice(0, SAMPLE_BYTES * 16).split("\n");
  const whole = lines.slice(0, -1).filter((line) => line.trim() !== "");
  return whole.length > 1 && whole.every(isJson);
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function notJson(error: Error, { name, text }: { readonly name: string; readonly text: string }): CliError {
  const body = text.replace(/^\uFEFF/, "");
  const reason = error.message.replace(
    /,? (".*" is not valid JSON|in JSON at position.*|\(line.*|at position.*)/s,
    "",
  );
  const position = positionOf(error, body);
  return new CliError(
    `${name}${position === undefined ? "" : `, ${place(body, position)}`}: ${reason}`,
    ["The file is not whole JSON. If it was cut off, export the session again."],
    { cause: error },
  );
}

/** Where the parser stopped: it names a position, or an end, or only the character that it did not expect. */
function positionOf({ message }: Error, body: string): number | undefined {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (/end of JSON|Unterminated/.test(message)) return body.length;
  const unexpected = /^Unexpected token '(.)'/u.exec(message)?.[1];
  const start = body.search(/\S/);
  return unexpected !== undefined && body.startsWith(unexpected, start) ? start : undefined;
}

function place(body: string, position: number): string {
  const before = body.slice(0, position);
  const line = before.split("\n").length;
  return `line ${line}, column ${position - before.lastIndexOf("\n")}`;
}
