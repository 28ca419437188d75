import type { CallResult } from "./compact-call.ts";
import { errorText } from "./compact-error-text.ts";

/** What a hook for `compacting` may return; other fields are not looked at. */
export interface CompactingAnswer {
  /** Added to what other hooks said. */
  readonly context?: readonly string[];
  /** Takes the place of our instructions; the rule about secrets and the previous summary still follow it. */
  readonly prompt?: string;
  readonly veto?: boolean;
}

/** An answer that was checked, or why it cannot be used. */
export type CheckedAnswer =
  | {
      readonly status: "answered";
      readonly context: readonly string[];
      readonly prompt: string | undefined;
      readonly veto: boolean;
      readonly isContinueRefused: boolean;
    }
  | { readonly status: "failed"; readonly reason: HookFailureReason; readonly text: string };

export type HookFailureReason = "threw" | "timeout" | "too-large" | "malformed";

/** Reads a hook's answer field by field, each once, and only what the answer itself owns. */
export function readHookAnswer(result: CallResult<unknown>): CheckedAnswer {
  if (result.status === "failed") return failed("threw", errorText(result.error));
  if (result.status !== "done") return failed("timeout", "no answer in time");
  const { value } = result;
  if (value === undefined || value === null) return NOTHING;
  if (typeof value === "string" && value.length > MAX_ANSWER_BYTES) return failed("too-large", "too long");
  if (typeof value !== "object") return failed("malformed", `answered with a ${typeof value}`);
  try {
    return readFields(value);
  } catch (error) {
    return failed("malformed", errorText(error));
  }
}

/** How much a hook may say. */
export const MAX_ANSWER_BYTES = 65_536;
const MAX_TEXTS = 64;

const NOTHING: CheckedAnswer = {
  status: "answered",
  context: [],
  prompt: undefined,
  veto: false,
  isContinueRefused: false,
};

function readFields(value: object): CheckedAnswer {
  const own = (name: string): unknown =>
    Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  const context = readTexts(own("context"));
  const prompt = own("prompt");
  if (context === undefined) return failed("malformed", "context must be a list of at most 64 texts");
  if (prompt !== undefined && prompt !== null && typeof prompt !== "string") {
    return failed("malformed", "prompt must be a text");
  }
  const texts = typeof prompt === "string" ? [prompt, ...context] : context;
  if (bytesOf(texts) > MAX_ANSWER_BYTES) return failed("too-large", "more than 64 KiB");
  return {
    status: "answered",
    context,
    prompt: typeof prompt === "string" && prompt.trim() !== "" ? prompt : undefined,
    veto: own("veto") === true,
    isContinueRefused: own("enabled") === false,
  };
}

function readTexts(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > MAX_TEXTS) return undefined;
  const texts = Array.from({ length: value.length }, (_, index): unknown => value[index]);
  return texts.every((text) => typeof text === "string") ? texts : undefined;
}

function bytesOf(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) {
    if (text.length > MAX_ANSWER_BYTES) return Number.POSITIVE_INFINITY;
    for (const character of text) {
      const point = character.codePointAt(0) ?? 0;
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
  }
  return bytes;
}

function failed(reason: HookFailureReason, text: string): CheckedAnswer {
  return { status: "failed", reason, text };
}
