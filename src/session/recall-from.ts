import { callWithin } from "../compaction/compact-call.ts";
import { isFields } from "../text/is-fields.ts";
import type { Handle } from "../transcript/edit.ts";
import {
  boundRecall,
  type Recalled,
  type RecallMissing,
  type RecallRange,
  type RecallRequest,
  readable,
  searchLines,
} from "./recall.ts";
import { type RecalledText, textAt, textsOutOfSight } from "./recall-text.ts";
import type { SessionCore } from "./session-core.ts";

/** Answers a recall out of the transcript, then out of the spill store. Never throws. */
export async function recallFrom(
  core: SessionCore,
  request: RecallRequest,
  range: RecallRange | undefined,
): Promise<Recalled> {
  const { line, options } = core;
  const redact = options.redaction === "off" ? undefined : options.redaction;
  const maxChars = options.recallMaxChars;
  if (typeof request === "object" && request !== null) {
    const search = typeof request.search === "string" ? request.search : "";
    if (search.trim() === "") return missing("Give a text to search for.");
    const marked = new Map(
      line
        .window()
        .marked()
        .map((message) => [message.id, message]),
    );
    return searchLines(textsOutOfSight(line.base(), marked), { search, maxChars, redact });
  }
  if (typeof request !== "string" || request === "")
    return missing("Give a handle, or a text to search for.");
  const there = textAt(request, line.find);
  const found = there ?? (await fromSpills(core, request));
  if (found === undefined)
    return missing("Nothing is kept under this handle. Search for a text of it, or run the tool again.");
  const bounded = boundRecall(readable(found.text, redact), {
    maxChars,
    range: isFields(range) ? range : undefined,
  });
  const input =
    found.input === undefined
      ? undefined
      : boundRecall(readable(found.input, redact), { maxChars: INPUT_CHARS, range: undefined }).text;
  return {
    status: "found",
    handle: request,
    from: there === undefined ? "spill" : "transcript",
    ...bounded,
    ...(input !== undefined && { input }),
  };
}

async function fromSpills({ ports }: SessionCore, handle: Handle): Promise<RecalledText | undefined> {
  const { spills, clock } = ports;
  if (spills === undefined) return undefined;
  const result = await callWithin({
    start: () => spills.get(handle),
    limitMs: SPILL_LIMIT_MS,
    clock,
    signal: undefined,
  });
  return result.status === "done" && typeof result.value === "string" ? { text: result.value } : undefined;
}

const SPILL_LIMIT_MS = 10_000;
const INPUT_CHARS = 2_000;

function missing(hint: string): RecallMissing {
  return { status: "missing", hint };
}
