import { InvalidArgumentError } from "commander";
import type { SecretsChoice } from "../inspector/server/inspected-session.ts";
import { CliError } from "./cli-error.ts";
import type { ServeFlags } from "./inspect-serve.ts";

/** What `carryover inspect` is told. */
export interface InspectFlags {
  readonly json?: true;
  readonly top: number;
  readonly open?: true;
  readonly html?: string;
  readonly port?: number;
  readonly live?: true;
  readonly store?: string;
  readonly window?: number;
  readonly redact: boolean;
}

/** Throws where a wish cannot be met. */
export function checkFlags({ html, live, json, store }: InspectFlags): void {
  if (html === "") throw new CliError("--html needs the name of a file", ["Use: --html session.html"]);
  if (live && (html !== undefined || json))
    throw new CliError("--live serves a page that follows the session", ["Leave out --html and --json."]);
  if (store !== undefined && !live) throw new CliError("--store is for --live", ["Add --live."]);
}

/** Whether the page is to be served. */
export function isServed({ open, port, live }: InspectFlags): boolean {
  return open === true || live === true || port !== undefined;
}

/** How the page is to be served. */
export function serveFlagsOf(flags: InspectFlags): ServeFlags {
  const { open, port } = flags;
  return { browser: open ? "open" : "leave", say: sayOf(flags), ...(port !== undefined && { port }) };
}

/** Where lines for a person go: not between what a program reads. */
export function sayOf({ json }: Pick<InspectFlags, "json">): (line: string) => void {
  const stream = json ? process.stderr : process.stdout;
  return (line) => void stream.write(`${line}\n`);
}

/** Whether the page shows secrets. */
export function secretsOf({ redact }: Pick<InspectFlags, "redact">): SecretsChoice {
  return redact ? "redacted" : "shown";
}

/** Reads an argument that is a port. */
export function portOf(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("Give a number from 0 to 65535; 0 is any free port.");
  return port;
}
