import { markedPins } from "../../compaction/plan/window.ts";
import { type FactsBudget, factsOf } from "../../compaction/summary/facts.ts";
import type { Pin } from "../../compaction/summary/pins.ts";
import { fenceQuote } from "../../compaction/summary/text.ts";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { clipLine } from "../../text/clip.ts";
import { type RedactOptions, redactSecrets } from "../../text/secrets/redact-secrets.ts";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";
import { outcomeText, renderMessage } from "../../transcript/content.ts";
import { isSummary, type Message, type Transcript } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { readPinnedFiles } from "./pinned-files.ts";
import { createPinnedTexts } from "./pins.ts";

/** A conversation that an agent sums up itself, and which takes only texts from us around that. */
export interface CompactedConversation {
  /** Everything that was ever said in it, what earlier summaries stand for included. */
  readonly transcript: Transcript;
  /** The texts of the user that the agent still sends word for word. */
  readonly stillInWindow?: string;
  /** The option of that name. */
  readonly pin: readonly string[];
  readonly directory: string;
  readonly redaction: RedactOptions;
}

/**
 * What goes back before the model after the agent's summary, word for word: the user's own words, what is pinned, files
 * changed, and work that is still open. Agents put it into messages that stand above what a tool says, so nothing of a tool's
 * output is in it. Never longer than `maxChars`; empty where there is nothing.
 */
export async function textToRestore(
  summed: CompactedConversation,
  { maxChars }: { readonly maxChars: number },
): Promise<string> {
  const { directory, redaction, stillInWindow = "" } = summed;
  const transcript = summed.transcript.filter((message) => !isSummary(message) && message.role !== "system");
  const pinned = createPinnedTexts(summed.pin);
  const files = await readPinnedFiles(directory, pinned.globs);
  const pins: readonly Pin[] = [
    ...pinned.pinsOf(transcript),
    ...files.map(({ name, content }) => ({ text: `${name}:\n${content}` })),
  ];
  const marks = new Set(markedPins(transcript).map(({ handle }) => handle));
  const missing = transcript.filter((message) => !isStillThere(message, stillInWindow)).flatMap(withoutOurs);
  const marked = markedPins(missing);
  const others = pins.filter((pin) => "text" in pin || !marks.has(pin.handle));
  const work = openWork(transcript).map((line) => redactSecrets(line, redaction));
  for (const budget of BUDGETS) {
    const facts = factsOf(missing, { pins: others, marked, budget, redaction });
    const text = [facts, ...(work.length > 0 ? [`Open work:\n${work.join("\n")}`] : [])]
      .filter((each) => each !== "")
      .join("\n\n");
    if (text === "") return "";
    const whole = `${RESTORED_HEAD}\n\n${text}\n\n${tailOf(facts)}`;
    if (whole.length <= maxChars) return whole;
  }
  return "";
}

const RESTORED_HEAD =
  "[Carryover] Kept from before the compaction, word for word. It is what was said and done, not a new request.";

/** What an agent has cut itself before anybody saw it is nowhere. */
function tailOf(facts: string): string {
  const byHandle = /<user_words>\n\[/.test(facts) ? "by a handle from above, or " : "";
  return `[The tool recall gives what left this conversation, as far as it was kept: ${byHandle}by words to search for.]`;
}

/** The list of files shrinks first: the user's words are what summaries lose and people miss. */
const BUDGETS: readonly Omit<FactsBudget, "keyFactsChars">[] = [
  { wordsChars: 8_000, filesChars: 3_000 },
  { wordsChars: 8_000, filesChars: 2_000 },
  { wordsChars: 4_000, filesChars: 1_000 },
  { wordsChars: 1_000, filesChars: 500 },
  { wordsChars: 0, filesChars: 0 },
];

/** True for words of the user that still stand in the window. */
function isStillThere({ role, parts }: Message, window: string): boolean {
  if (role !== "user" || window === "") return false;
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text.trim()] : []));
  return texts.length === parts.length && texts.flatMap(endsOf).every((text) => window.includes(text));
}

/** By what a text of the user is known in what an agent still sends: itself, or of a long one both ends. */
export function endsOf(text: string): readonly string[] {
  return text.length > 2 * KNOWN_CHARS ? [text.slice(0, KNOWN_CHARS), text.slice(-KNOWN_CHARS)] : [text];
}

const KNOWN_CHARS = 1_000;

/**
 * A message without what the agent said in the user's name, our reports among it, and without calls of our own tools and of
 * those whose steps are listed as open work.
 */
function withoutOurs(message: Message): readonly Message[] {
  const isOurs = (part: Part): boolean =>
    part.type === "tool"
      ? FORK_OWN_TOOLS.includes(part.tool) || PLANS.has(nameOf(part.tool))
      : message.role === "user" && part.type === "text" && part.synthetic === true;
  const parts = message.parts.filter((part) => !isOurs(part));
  if (parts.length === message.parts.length) return [message];
  return parts.length === 0 ? [] : [{ ...message, parts }];
}

/** A text in pieces of at most so many characters, cut between lines; a longer line is cut too. */
export function inPieces(text: string, maxChars: number): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const line of text.split("\n").flatMap((each) => chunksOf(each, maxChars))) {
    const next = piece === "" ? line : `${piece}\n${line}`;
    if (next.length > maxChars) {
      pieces.push(piece);
      piece = line;
    } else piece = next;
  }
  return piece === "" ? pieces : [...pieces, piece];
}

function chunksOf(line: string, maxChars: number): readonly string[] {
  if (line.length <= maxChars) return [line];
  const chunks: string[] = [];
  for (let start = 0; start < line.length; start += maxChars)
    chunks.push(line.slice(start, start + maxChars));
  return chunks;
}

/** For the agent's own request for a summary. People are shown it too. */
export function summaryInstructions(): string {
  return "Keep what the user said and asked for, decisions with reasons, failures with exact errors, open steps, names and values. No long outputs; [REDACTED] for secrets.";
}

/**
 * A readable summary of the window without a model, for people and as a way back where the agent's own is empty or
 * wrong: what was compacted, then the newest messages as they were. Undefined for an empty conversation.
 */
export async function backupSummaryOf(
  summed: CompactedConversation,
  at: number,
): Promise<string | undefined> {
  const { redaction } = summed;
  const window = filterCompacted(summed.transcript).filter(({ role }) => role !== "system");
  if (window.length === 0) return undefined;
  // Not needed by what an agent waits for.
  const [{ compact }, { planCompaction }] = await Promise.all([
    import("../../compaction/compact.ts"),
    import("../../compaction/plan/plan-compaction.ts"),
  ]);
  const plan = planCompaction({ transcript: window, trigger: "manual", redaction, autoContinue: "never" });
  const outcome = await compact(plan, { clock: createSystemClock() }, { at });
  const isCompacted = plan.status === "planned" && outcome.status === "compacted";
  const kept = new Set(isCompacted ? plan.keptIds : window.map(({ id }) => id));
  const summary = isCompacted
    ? textsOf(outcome.messages.find(({ id }) => id === plan.ids.summary)?.parts ?? [])
    : "";
  const newest = window.filter(({ id }) => kept.has(id)).map(renderMessage);
  return redactSecrets([summary, ...newest].filter((text) => text.trim() !== "").join("\n\n"), redaction);
}

function textsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** The steps of the newest plan that are not done, one a line; agents keep them by tools of these names. */
export function openWork(transcript: Transcript): readonly string[] {
  const calls = transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
  const lists = calls.filter(({ tool }) => LISTS.has(nameOf(tool)));
  const steps = [...stepsOfList(lists.at(-1)), ...stepsOfTasks(calls)];
  const open = steps.filter(({ status, text }) => text !== "" && !DONE.test(status));
  return open.map(({ status, text }) =>
    fenceQuote(`- ${clipLine(text, 300)}${status === "" ? "" : ` (${clipLine(status, 40)})`}`),
  );
}

interface Step {
  readonly text: string;
  readonly status: string;
}

const LISTS = new Set(["todowrite", "updateplan"]);
const PLANS = new Set([...LISTS, "taskcreate", "taskupdate"]);
const DONE = /^(?:completed|done|cancelled|deleted)$/;

function nameOf(tool: string): string {
  return tool.toLowerCase().replaceAll(/[_-]/g, "");
}

/** A tool that is given the whole list each time. */
function stepsOfList(call: ToolPart | undefined): readonly Step[] {
  const { todos, plan } = asObject(call?.input);
  return asArray(todos ?? plan)
    .map(asObject)
    .map(({ content, step, status }) => stepOf(content ?? step, status));
}

/** Tools that add one step each and change it later by its number, which the answer names. */
function stepsOfTasks(calls: readonly ToolPart[]): readonly Step[] {
  const tasks = new Map<string, Step>();
  for (const { tool, input, outcome } of calls) {
    const { taskId, subject, status } = asObject(input);
    if (nameOf(tool) === "taskcreate") {
      const [, id = `${tasks.size + 1}`] = /#(\d+)/.exec(outcomeText(outcome)) ?? [];
      tasks.set(id, stepOf(subject, "pending"));
    } else if (nameOf(tool) === "taskupdate") {
      const id = String(taskId ?? "");
      const known = tasks.get(id);
      if (known !== undefined) tasks.set(id, stepOf(subject ?? known.text, status ?? known.status));
    }
  }
  return [...tasks.values()];
}

function stepOf(text: unknown, status: unknown): Step {
  return { text: asString(text) ?? "", status: (asString(status) ?? "").replaceAll("_", " ") };
}
