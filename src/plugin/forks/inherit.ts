import {
  chooseInheritMode,
  type InheritFacts,
  overheadTokens,
} from "../../fork/context/choose-inherit-mode.ts";
import { buildForkPreamble, PREAMBLE_FIRST_LINE, type ProcessingStats } from "../../fork/context/format.ts";
import type { ForkOptions } from "../../fork/context/options.ts";
import {
  type ForkResult,
  forkContext,
  forkFiles,
  processMessagesForFork,
  uncutStats,
} from "../../fork/fork.ts";
import { redactTranscript } from "../../stages/redact.ts";
import { repairPairing } from "../../stages/repair.ts";
import { formatNumber } from "../../text/format-number.ts";
import type { RedactOptions } from "../../text/secrets/redact-secrets.ts";
import { renderMessage } from "../../transcript/content.ts";
import { estimateMessageTokens } from "../../transcript/estimate-message.ts";
import type { ModelRef, Transcript } from "../../transcript/message.ts";
import type { HostFormat, HostMessage } from "../host/agent-host.ts";

/** What a child is given of its parent's conversation. */
export type Inherited = InheritedMessages | InheritedText | NothingInherited;

interface InheritedBase {
  readonly reason: string;
  /** Tells the child what was done to the context. */
  readonly preamble: string;
  readonly chars: number;
  readonly messageCount: number;
}

/** Real messages, shown in front of the child's own. */
interface InheritedMessages extends InheritedBase {
  readonly mode: "full" | "trimmed";
  readonly messages: readonly HostMessage[];
  /** What the parent's request had beside them; of a full fork only. */
  readonly promptHead?: unknown;
}

/** One text, stored in the child's session. */
interface InheritedText extends InheritedBase {
  readonly mode: "text";
  readonly text: string;
}

/** The parent has said nothing yet, or its conversation could not be had. */
interface NothingInherited {
  readonly mode: "none";
  readonly status: "empty" | "failed";
  readonly reason: string;
}

export interface InheritInput {
  readonly format: HostFormat;
  /** What was last sent for the parent; unset when the agent never showed it. */
  readonly lastRequest?: {
    readonly messages: readonly HostMessage[];
    readonly promptHead?: unknown;
    readonly ageMs: number;
  };
  /** The parent's stored messages, for a child that gets text. */
  readonly stored: () => Promise<readonly HostMessage[]>;
  readonly parentSessionId: string;
  /** What the child is asked to do: what it inherits is chosen for that. */
  readonly task: string;
  readonly profile: "default" | "documented";
  readonly setting: InheritFacts["setting"];
  readonly budgetChars?: number;
  /** Whether the child can call recall. */
  readonly hasRecall: boolean;
  /** The model that the child asks. */
  readonly model: ModelRef;
  /** How secrets are found for a child at another provider. */
  readonly redaction: RedactOptions;
  readonly facts: Pick<
    InheritFacts,
    "receiver" | "windowTokens" | "cacheReadPrice" | "cacheWritePrice" | "finishedSteps"
  >;
}

/** Prepares the context of a child in the way that fits; never throws. */
export async function inherit(input: InheritInput): Promise<Inherited> {
  try {
    return input.lastRequest === undefined || input.profile === "documented"
      ? await inheritText(
          input,
          input.profile === "documented" ? "the configuration asks for text" : undefined,
        )
      : await inheritLastRequest(input, input.lastRequest);
  } catch (cause) {
    return { mode: "none", status: "failed", reason: cause instanceof Error ? cause.message : String(cause) };
  }
}

async function inheritLastRequest(
  input: InheritInput,
  lastRequest: NonNullable<InheritInput["lastRequest"]>,
): Promise<Inherited> {
  const { format } = input;
  const transcript = format.decode(lastRequest.messages);
  if (transcript.length === 0) return EMPTY;
  const quiet = format.withoutResults(lastRequest.messages);
  let processed: ForkResult | undefined;
  const trimmed = (): ForkResult => {
    processed ??= processMessagesForFork(format.decode(quiet), pipelineOptions(input));
    return processed;
  };
  const { mode, reason } = chooseInheritMode({
    ...input.facts,
    setting: input.setting,
    hook: "seen",
    lastRequestAgeMs: lastRequest.ageMs,
    fullTokens: tokensOf(transcript),
    // Asked for only where the choice depends on it.
    get trimmedTokens() {
      return tokensOf(trimmed().messages);
    },
    fixedTokens: overheadTokens(transcript, tokensOf),
  });
  if (mode === "text") return inheritText(input, reason);
  // The provider has system prompt and tools cached for every request that sends the same ones; another agent has others.
  const isSame = input.facts.receiver === "same";
  const promptHead =
    lastRequest.promptHead === undefined || !isSame ? {} : { promptHead: lastRequest.promptHead };
  if (mode === "trimmed")
    return { ...inheritTrimmed(input, { messages: quiet, trimmed: trimmed(), reason }), ...promptHead };
  return {
    mode: "full",
    reason,
    messages: lastRequest.messages,
    ...promptHead,
    preamble: exactPreamble(uncutStats(transcript), input),
    chars: transcript.reduce((sum, message) => sum + renderMessage(message).length, 0),
    messageCount: transcript.length,
  };
}

/** The same real messages after the pipeline, in a shape that every provider takes. */
function inheritTrimmed(input: InheritInput, { messages, trimmed, reason }: Processed): Inherited {
  const { format } = input;
  // Nothing on the wire shows this time; one from the messages keeps the stored bytes the same for all siblings.
  const at = trimmed.messages.at(-1)?.createdAt ?? 0;
  const processed = format.apply(messages, trimmed.edits, { at });
  const repaired = format.apply(processed, repairPairing(format.decode(processed)), { at });
  if (repaired.length === 0) return EMPTY;
  return {
    mode: "trimmed",
    reason,
    messages: repaired,
    preamble: preambleOf(trimmed.stats, { input, messages: format.decode(messages) }),
    chars: trimmed.stats.totalChars,
    messageCount: trimmed.messages.length,
  };
}

interface Processed {
  readonly messages: readonly HostMessage[];
  readonly trimmed: ForkResult;
  readonly reason: string;
}

async function inheritText(input: InheritInput, asked: string | undefined): Promise<Inherited> {
  const stored = input.format.withoutResults(await input.stored());
  const messages = input.format.decode(stored);
  const formatted = forkContext(messages, pipelineOptions(input));
  if (formatted.text === "") return EMPTY;
  return {
    mode: "text",
    reason: asked ?? chooseInheritMode({ ...NO_REQUEST, ...input.facts, setting: input.setting }).reason,
    text: formatted.text,
    preamble: preambleOf(formatted.stats, { input, messages }),
    chars: formatted.text.length,
    messageCount: formatted.stats.finalCount,
  };
}

/** Tells the child what was left out, and how to get it back if anything was. */
function preambleOf(stats: ProcessingStats, { input, messages }: Inheriting): string {
  const isWhole =
    stats.truncatedResults === 0 && stats.removedMessages === 0 && (stats.clearedResults ?? 0) === 0;
  const files = forkFiles(messages, { ...pipelineOptions(input), stats });
  return buildForkPreamble(stats, {
    files,
    ...(!isWhole && input.hasRecall && { recall: "the tool recall" }),
  });
}

interface Inheriting {
  readonly input: InheritInput;
  readonly messages: Transcript;
}

/** The child sees what the parent saw: nothing is worth reading again for its own sake. */
function exactPreamble(
  { compactionDetected, clearedResults = 0 }: ProcessingStats,
  { hasRecall }: InheritInput,
): string {
  return [
    PREAMBLE_FIRST_LINE,
    compactionDetected
      ? "You see its messages as they were sent, from its summary of the earlier ones on. Nothing was left out for you."
      : "You see all its messages as they were sent. Nothing was left out for you.",
    "What was read is above: read a file again only where it may have changed since.",
    ...(clearedResults === 0 || !hasRecall
      ? []
      : ["Results that had been cleared can be read with the tool recall."]),
  ].join("\n");
}

function pipelineOptions(input: InheritInput): ForkOptions {
  const { profile, budgetChars, parentSessionId: sessionId, task, model } = input;
  return {
    model,
    ...(budgetChars === undefined ? {} : { budgetChars }),
    ...(profile === "documented" ? {} : { sessionId, task }),
    profile,
    ...(input.facts.receiver === "other-provider" ? { redact: redactTranscript(input.redaction) } : {}),
  };
}

const EMPTY: NothingInherited = {
  mode: "none",
  status: "empty",
  reason: "the parent's conversation is empty",
};

const NO_REQUEST: Omit<InheritFacts, keyof InheritInput["facts"]> = {
  setting: "auto",
  hook: "missing",
  lastRequestAgeMs: 0,
  fullTokens: 0,
  trimmedTokens: 0,
  fixedTokens: 0,
};

function tokensOf(transcript: Transcript): number {
  return transcript.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}

/** For the person who opens the child: what was inherited and how; the model never sees it. */
export function humanLine({ number, mode, reason, chars, messages }: HumanLineInput): string {
  if (messages === 0) return `Fork ${number} started without inherited context: ${reason}.`;
  return `Fork ${number} inherited ${sizeText({ messages, chars })} (${mode}: ${reason}).`;
}

interface HumanLineInput {
  readonly number: number;
  readonly mode: string;
  readonly reason: string;
  readonly chars: number;
  readonly messages: number;
}

/** How much was inherited, as people say it. */
export function sizeText({ messages, chars }: Pick<HumanLineInput, "messages" | "chars">): string {
  return `${messages} ${messages === 1 ? "message" : "messages"}, ${formatNumber(chars)} characters`;
}
