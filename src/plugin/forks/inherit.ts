import { chooseForkWay, type ForkWayFacts, overheadTokens } from "../../fork/context/choose-way.ts";
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
  readonly way: "exact" | "graduated";
  readonly messages: readonly HostMessage[];
  /** What the parent's request had beside them; of an exact fork only. */
  readonly frame?: unknown;
}

/** One text, stored in the child's session. */
interface InheritedText extends InheritedBase {
  readonly way: "text";
  readonly text: string;
}

/** The parent has said nothing yet, or its conversation could not be had. */
interface NothingInherited {
  readonly way: "none";
  readonly status: "empty" | "failed";
  readonly reason: string;
}

export interface InheritInput {
  readonly format: HostFormat;
  /** What was last sent for the parent; unset when the agent never showed it. */
  readonly view?: {
    readonly messages: readonly HostMessage[];
    readonly frame?: unknown;
    readonly ageMs: number;
  };
  /** The parent's stored messages, for a child that gets text. */
  readonly stored: () => Promise<readonly HostMessage[]>;
  readonly parentSessionId: string;
  /** What the child is asked to do: what it inherits is chosen for that. */
  readonly directive: string;
  readonly profile: "default" | "documented";
  readonly setting: ForkWayFacts["setting"];
  readonly budgetChars?: number;
  /** Whether the child can call recall. */
  readonly hasRecall: boolean;
  /** The model that the child asks. */
  readonly model: ModelRef;
  /** How secrets are found for a child at another provider. */
  readonly redaction: RedactOptions;
  readonly facts: Pick<
    ForkWayFacts,
    "receiver" | "windowTokens" | "cacheReadPrice" | "cacheWritePrice" | "finishedSteps"
  >;
}

/** Prepares the context of a child in the way that fits; never throws. */
export async function inherit(input: InheritInput): Promise<Inherited> {
  try {
    return input.view === undefined || input.profile === "documented"
      ? await inheritText(
          input,
          input.profile === "documented" ? "the configuration asks for text" : undefined,
        )
      : await inheritView(input, input.view);
  } catch (cause) {
    return { way: "none", status: "failed", reason: cause instanceof Error ? cause.message : String(cause) };
  }
}

async function inheritView(input: InheritInput, view: NonNullable<InheritInput["view"]>): Promise<Inherited> {
  const { format } = input;
  const transcript = format.decode(view.messages);
  if (transcript.length === 0) return EMPTY;
  const quiet = format.withoutResults(view.messages);
  let processed: ForkResult | undefined;
  const graduated = (): ForkResult => {
    processed ??= processMessagesForFork(format.decode(quiet), pipelineOptions(input));
    return processed;
  };
  const { way, reason } = chooseForkWay({
    ...input.facts,
    setting: input.setting,
    hook: "seen",
    viewAgeMs: view.ageMs,
    fullTokens: tokensOf(transcript),
    // Asked for only where the choice depends on it.
    get graduatedTokens() {
      return tokensOf(graduated().messages);
    },
    fixedTokens: overheadTokens(transcript, tokensOf),
  });
  if (way === "text") return inheritText(input, reason);
  // The provider has system prompt and tools cached for every request that sends the same ones; another agent has others.
  const isSame = input.facts.receiver === "same";
  const frame = view.frame === undefined || !isSame ? {} : { frame: view.frame };
  if (way === "graduated")
    return { ...inheritGraduated(input, { messages: quiet, graduated: graduated(), reason }), ...frame };
  return {
    way: "exact",
    reason,
    messages: view.messages,
    ...frame,
    preamble: exactPreamble(uncutStats(transcript), input),
    chars: transcript.reduce((sum, message) => sum + renderMessage(message).length, 0),
    messageCount: transcript.length,
  };
}

/** The same real messages after the pipeline, in a shape that every provider takes. */
function inheritGraduated(input: InheritInput, { messages, graduated, reason }: Processed): Inherited {
  const { format } = input;
  // Nothing on the wire shows this time; one from the messages keeps the stored bytes the same for all siblings.
  const at = graduated.messages.at(-1)?.createdAt ?? 0;
  const processed = format.apply(messages, graduated.edits, { at });
  const repaired = format.apply(processed, repairPairing(format.decode(processed)), { at });
  if (repaired.length === 0) return EMPTY;
  return {
    way: "graduated",
    reason,
    messages: repaired,
    preamble: preambleOf(graduated.stats, { input, messages: format.decode(messages) }),
    chars: graduated.stats.totalChars,
    messageCount: graduated.messages.length,
  };
}

interface Processed {
  readonly messages: readonly HostMessage[];
  readonly graduated: ForkResult;
  readonly reason: string;
}

async function inheritText(input: InheritInput, asked: string | undefined): Promise<Inherited> {
  const stored = input.format.withoutResults(await input.stored());
  const messages = input.format.decode(stored);
  const formatted = forkContext(messages, pipelineOptions(input));
  if (formatted.text === "") return EMPTY;
  return {
    way: "text",
    reason: asked ?? chooseForkWay({ ...NO_VIEW, ...input.facts, setting: input.setting }).reason,
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
  const { profile, budgetChars, parentSessionId: sessionId, directive, model } = input;
  return {
    model,
    ...(budgetChars === undefined ? {} : { budgetChars }),
    ...(profile === "documented" ? {} : { sessionId, directive }),
    profile,
    ...(input.facts.receiver === "other-provider" ? { redact: redactTranscript(input.redaction) } : {}),
  };
}

const EMPTY: NothingInherited = {
  way: "none",
  status: "empty",
  reason: "the parent's conversation is empty",
};

const NO_VIEW: Omit<ForkWayFacts, keyof InheritInput["facts"]> = {
  setting: "auto",
  hook: "missing",
  viewAgeMs: 0,
  fullTokens: 0,
  graduatedTokens: 0,
  fixedTokens: 0,
};

function tokensOf(transcript: Transcript): number {
  return transcript.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}

/** For the person who opens the child: what was inherited and how; the model never sees it. */
export function humanLine({ number, way, reason, chars, messages }: HumanLineInput): string {
  if (messages === 0) return `Fork ${number} started without inherited context: ${reason}.`;
  return `Fork ${number} inherited ${sizeText({ messages, chars })} (${way}: ${reason}).`;
}

interface HumanLineInput {
  readonly number: number;
  readonly way: string;
  readonly reason: string;
  readonly chars: number;
  readonly messages: number;
}

/** How much was inherited, as people say it. */
export function sizeText({ messages, chars }: Pick<HumanLineInput, "messages" | "chars">): string {
  return `${messages} ${messages === 1 ? "message" : "messages"}, ${formatNumber(chars)} characters`;
}
