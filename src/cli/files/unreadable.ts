import { constants } from "node:buffer";
import { isJsonText } from "../../formats/content/call-arguments.ts";
import { API_FORMATS, SESSION_FORMATS } from "../../formats/registry.ts";
import { formatBytes } from "../../text/format-number.ts";
import { CliError } from "../terminal/cli-error.ts";
import { withoutMark } from "./text-encoding.ts";

/** What to say of a file that cannot be read. */
export function cannotRead(name: string, error: NodeJS.ErrnoException): CliError {
  const { code = "", message } = error;
  const reason = REASONS[code] ?? message;
  const advice = [
    ...(code === "ENOENT" && /^[\w-]+$/.test(name) ? [noSuchId(name)] : []),
    ...(code === "EISDIR" ? ["`carryover stats` reads folders."] : []),
    ...(code === "cannot-unpack" ? ["If it is a session, unpack it with gzip -d or zstd -d first."] : []),
    ...(code === BROKEN_PACKING ? ["`carryover rescue` takes what can still be read of a session."] : []),
  ];
  return new CliError(`Cannot read ${name}: ${reason}`, advice, { cause: error });
}

/** What to say of a name that is neither a file nor the beginning of a session's id. */
export function noSuchId(name: string): string {
  return name.length < MIN_ID_CHARS
    ? `Of the id of a session the first ${MIN_ID_CHARS} characters are needed at least.`
    : "No session here has an id that begins so.";
}

/** Fewer are no name: too many ids begin with them. */
export const MIN_ID_CHARS = 4;

/** The `code` of the error for a packed file that is cut or damaged. */
export const BROKEN_PACKING = "broken-packing";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "you may not read it",
};

/** Explains why a file is no transcript: it is empty, not text, cut off somewhere, or JSON of another kind. */
export function explainUnreadable(
  bytes: Uint8Array,
  { name, reason }: { readonly name: string; readonly reason: string },
): CliError {
  if (bytes.subarray(0, SAMPLE_BYTES).includes(0))
    return new CliError(`${name} is not a text file`, [KNOWN_FORMATS]);
  if (bytes.length > constants.MAX_STRING_LENGTH)
    return new CliError(
      `${name} has ${formatBytes(bytes.length)}: one JSON text of more than ${formatBytes(constants.MAX_STRING_LENGTH)} cannot be parsed`,
      ["It need not be broken. Sessions with a JSON value in each line may be as long as they like."],
    );
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXPLAINED_BYTES));
  if (text.trim() === "")
    return new CliError(`${name} is empty`, [
      name.includes(".jsonl")
        ? "The program whose session it is has written nothing to it."
        : "Write a session of OpenCode with `opencode export <session> > session.json`.",
    ]);
  try {
    JSON.parse(text);
  } catch (error) {
    return isEachLineJson(text)
      ? new CliError(`${name} has JSON lines, but no transcript: ${reason}`, [KNOWN_FORMATS])
      : explainSyntaxError(error as Error, { name, text });
  }
  return new CliError(`${name} is JSON, but no transcript: ${reason}`, [KNOWN_FORMATS]);
}

const agents = Object.values(SESSION_FORMATS).map(({ agent }) => agent);
const apis = new Set(Object.values(API_FORMATS).map(({ api }) => api));
const KNOWN_FORMATS = `Expected a session of ${orList(agents)}, or messages of the API of ${orList([...apis])}.`;

function orList(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

const SAMPLE_BYTES = 4096;
/** A larger file is not decoded whole only to find the line of an error. */
const MAX_EXPLAINED_BYTES = 256 * 1024 * 1024;

function isEachLineJson(text: string): boolean {
  const lines = text.slice(0, SAMPLE_BYTES * 16).split("\n");
  const complete = lines.slice(0, -1).filter((line) => line.trim() !== "");
  return complete.length > 1 && complete.every(isJsonText);
}

function explainSyntaxError(
  error: Error,
  { name, text }: { readonly name: string; readonly text: string },
): CliError {
  const body = withoutMark(text);
  const reason = error.message.replace(
    /,? (".*" is not valid JSON|in JSON at position.*|\(line.*|at position.*)/s,
    "",
  );
  const position = positionOf(error, body);
  return new CliError(
    `${name}${position === undefined ? "" : `, ${lineAndColumn(body, position)}`}: ${reason}`,
    ["The file is not whole JSON. If it was cut off, export the session again."],
    { cause: error },
  );
}

/** Where the parser stopped. Its message names a position, the end, or only the unexpected character. */
function positionOf({ message }: Error, body: string): number | undefined {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (/end of JSON|Unterminated/.test(message)) return body.length;
  const unexpected = /^Unexpected token '(.)'/u.exec(message)?.[1];
  const start = body.search(/\S/);
  return unexpected !== undefined && body.startsWith(unexpected, start) ? start : undefined;
}

/** A position in a text, for an error message. */
export function lineAndColumn(body: string, position: number): string {
  const before = body.slice(0, position);
  const line = before.split("\n").length;
  return `line ${line}, column ${position - before.lastIndexOf("\n")}`;
}
