import { readFile } from "node:fs/promises";
import { messagesOf, type OpenCodeWire } from "../../formats/opencode/session-message.ts";
import { CliError } from "./cli-error.ts";

/** A session file as far as it could be read. */
export interface SessionFile {
  readonly wire: OpenCodeWire;
  readonly sessionId: string | undefined;
  readonly title: string | undefined;
  /** What is broken in it but did not stop the reading. */
  readonly warnings: readonly string[];
}

/** Reads an OpenCode session from a file, or from standard input for `-`. Throws a `CliError` that says what is wrong, and where. */
export async function readSession(path: string): Promise<SessionFile> {
  const name = path === "-" ? "standard input" : path;
  const value = parseJson(await readText(path, name), name);
  if (!isSession(value)) {
    throw new CliError(`${name} is JSON, but not an OpenCode session`, [
      "Expected what `opencode export <session>` prints, { info, messages: […] }, or a list of { info, parts } messages.",
    ]);
  }
  const info = (Array.isArray(value) ? {} : (value as { info?: object }).info) ?? {};
  const { id, title } = info as { id?: unknown; title?: unknown };
  return {
    wire: value,
    sessionId: typeof id === "string" ? id : undefined,
    title: typeof title === "string" ? title : undefined,
    warnings: findBroken(value),
  };
}

async function readText(path: string, name: string): Promise<string> {
  try {
    if (path !== "-") return await readFile(path, "utf8");
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason =
      code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : message;
    throw new CliError(`Cannot read ${name}: ${reason}`, [], { cause: error });
  }
}

function parseJson(text: string, name: string): unknown {
  const body = text.replace(/^\uFEFF/, "");
  if (body.trim() === "")
    throw new CliError(`${name} is empty`, [
      "Write a session with `opencode export <session> > session.json`.",
    ]);
  try {
    return JSON.parse(body);
  } catch (error) {
    const reason = (error as Error).message.replace(
      /,? (".*" is not valid JSON|in JSON at position.*|\(line.*|at position.*)/s,
      "",
    );
    const position = positionOf(error as Error, body);
    throw new CliError(
      `${name}${position === undefined ? "" : `, ${place(body, position)}`}: ${reason}`,
      ["The file is not whole JSON. If it was cut off, export the session again."],
      { cause: error },
    );
  }
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

function isSession(value: unknown): value is OpenCodeWire {
  if (Array.isArray(value))
    return value.every((item) => typeof item === "object" && item !== null && "info" in item);
  return (
    typeof value === "object" && value !== null && Array.isArray((value as { messages?: unknown }).messages)
  );
}

function findBroken(wire: OpenCodeWire): readonly string[] {
  return messagesOf(wire).flatMap((message: unknown, index) => {
    if (typeof message !== "object" || message === null) return [`message ${index + 1} is not an object`];
    if (!Array.isArray((message as { parts?: unknown }).parts)) return [`message ${index + 1} has no parts`];
    return [];
  });
}
