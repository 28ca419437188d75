import type { FileSystem } from "./file-system.ts";
import { openSealedLine, sealLine } from "./sealed-line.ts";
import { readWholeFileIfAny } from "./whole-file.ts";

/** The content of a record's file. */
export function encodeRecord(record: EncodableRecord): Uint8Array {
  return sealLine([
    ["id", JSON.stringify(record.id)],
    ["version", String(record.version)],
    ["value", record.json],
  ]);
}

export interface EncodableRecord {
  readonly id: string;
  readonly version: number;
  readonly json: string;
}

/** One copy of a record; throws only for what the system would not do. */
export function readCopy(fs: FileSystem, path: string): RecordCopy {
  const bytes = readWholeFileIfAny(fs, path);
  if (bytes === undefined) return { status: "missing" };
  if (bytes.at(-1) !== NEWLINE) return { status: "corrupt", reason: `${path} has no end` };
  const opened = openSealedLine(bytes.subarray(0, -1));
  if (opened.status === "damaged") return { status: "corrupt", reason: `${path} ${opened.reason}` };
  const { id, version, value } = opened.fields;
  if (typeof id !== "string" || typeof version !== "number" || !Number.isSafeInteger(version)) {
    return { status: "corrupt", reason: `${path} has no id and version` };
  }
  return { status: "whole", id, version, value };
}

export type RecordCopy =
  | { readonly status: "whole"; readonly id: string; readonly version: number; readonly value: unknown }
  | { readonly status: "missing" }
  | { readonly status: "corrupt"; readonly reason: string };

/** The name of the record that a file belongs to, if it is a file that shows that the record exists. */
export function recordNameOf(file: string): string | undefined {
  return /^(@?[A-Za-z0-9_-]+)\.json(?:\.bak|\.corrupt-[0-9]+)?$/.exec(file)?.[1];
}

const NEWLINE = 0x0a;
