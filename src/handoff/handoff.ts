import { forkContext } from "../fork/fork.ts";
import type { FormatName } from "../formats/detect-format.ts";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import { createRedactor } from "../stages/redact.ts";
import { CONTINUE_REQUEST } from "../stages/repair.ts";
import { plural } from "../text/display.ts";
import { asArray, asObject, asString } from "../text/json.ts";
import { isVisibleToModel, type Message, project, type Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { type HandoffTarget, translateCalls } from "./tool-calls.ts";
import { writeClaudeCode } from "./writers/claude-code.ts";
import { writeCodex } from "./writers/codex.ts";
import { writeOpenCode } from "./writers/opencode.ts";
import { writeOpenCode2 } from "./writers/opencode2.ts";
import { writePi } from "./writers/pi.ts";
import type { Block, SessionHead, Turn } from "./writers/session-head.ts";

/**
 * A session of one coding agent as another stores it, with its calls and results. Five steps: what the model sees of it
 * now, without reasoning; secrets out, where the user wants that; down to size by lines; calls under the names that the
 * receiver offers; and the receiver's own records (`writers/`), made from a request that the strictest provider takes.
 * The first text says what was done.
 */
export function handOff(transcript: Transcript, options: HandoffOptions): HandedOff {
  const { target, head, budgetChars, secrets, source, calls = "translated" } = options;
  const redactor = createRedactor();
  const seen = project(transcript).filter(isVisibleToModel);
  const clean = secrets === "taken-out" ? seen.map((message) => redactor.message(message)) : seen;
  const sized =
    budgetChars === undefined
      ? { messages: clean, cut: 0, hidden: 0, folded: 0 }
      : fitted(clean, budgetChars, options.fold);
  const { messages, foreign } = translateCalls(sized.messages, target, calls);
  const turns = turnsOf(messages);
  const blocks = turns.flatMap((turn) => turn.blocks);
  const results = blocks.filter((block) => block.type === "result");
  const facts: HandoffFacts = {
    calls: blocks.filter(({ type }) => type === "call").length,
    results: results.length,
    resultChars: results.reduce((sum, { text }) => sum + text.length, 0),
    shortened: sized.cut,
    leftOut: sized.hidden,
    folded: sized.folded,
    secrets: [...redactor.found.values()].reduce((sum, count) => sum + count, 0),
    foreign,
    files: messages.reduce((sum, { parts }) => sum + parts.reduce((all, part) => all + filesOf(part), 0), 0),
  };
  const notice = options.notice?.(facts) ?? noticeOf(source, facts);
  const told = withNotice(turns, notice);
  return { ...facts, notice, content: WRITERS[target](told, head) };
}

export interface HandoffOptions {
  readonly target: HandoffTarget;
  readonly head: SessionHead;
  /** Most characters of the messages; unset: all of them. */
  readonly budgetChars?: number;
  readonly secrets: "taken-out" | "kept";
  readonly source: HandoffSource;
  /** `kept`: a session of the same agent, whose tools it knows. @default translated */
  readonly calls?: "translated" | "kept";
  /** Sums up the oldest messages where they do not fit; unset: they are left out. */
  readonly fold?: (messages: Transcript, budgetChars: number) => Transcript;
  /** What the first text says. @default where the session comes from, and what was done to it */
  readonly notice?: (facts: HandoffFacts) => string;
}

/** Where a session comes from. */
export interface HandoffSource {
  readonly format: FormatName;
  readonly sessionId?: string;
  /** The path of the original. */
  readonly path: string;
  /** Lines of the original that could not be read. */
  readonly damagedLines?: number;
}

/** What became of a session. */
export interface HandoffFacts {
  readonly calls: number;
  readonly results: number;
  readonly resultChars: number;
  /** Parts that were cut. */
  readonly shortened: number;
  /** Messages that were left out: a summary stands for them, or there was no room. */
  readonly leftOut: number;
  /** Messages that a summary stands for now. */
  readonly folded: number;
  readonly secrets: number;
  /** Tools that the receiver does not have. */
  readonly foreign: readonly string[];
  /** Images and other files, of which only the names are handed over. */
  readonly files: number;
}

export interface HandedOff extends HandoffFacts {
  /** What the first text of the new session says. */
  readonly notice: string;
  /** The text of the file. */
  readonly content: string;
}

const WRITERS: Readonly<Record<HandoffTarget, (turns: readonly Turn[], head: SessionHead) => string>> = {
  "claude-code": (turns, head) => linesText(writeClaudeCode(turns, head)),
  codex: (turns, head) => linesText(writeCodex(turns, head)),
  opencode: (turns, head) => `${JSON.stringify(writeOpenCode(turns, head))}\n`,
  opencode2: (turns, head) => `${JSON.stringify(writeOpenCode2(turns, head))}\n`,
  pi: (turns, head) => linesText(writePi(turns, head)),
};

function linesText(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

interface Fitted {
  readonly messages: Transcript;
  readonly cut: number;
  readonly hidden: number;
  readonly folded: number;
}

/** The messages within a budget, by the lines that are most likely needed next; what does not fit even so is folded. */
function fitted(messages: Transcript, budgetChars: number, fold?: HandoffOptions["fold"]): Fitted {
  const inherit = (from: Transcript) => forkContext(from, { budgetChars, ownTools: [] });
  const first = inherit(messages);
  const overflows = first.edits.some(
    ({ type, reason }) => type === "hide-message" && reason === "over-budget",
  );
  const shown = fold && overflows ? fold(messages, budgetChars).filter(isVisibleToModel) : messages;
  const { messages: kept, edits } = shown === messages ? first : inherit(shown);
  return {
    messages: kept,
    cut: edits.filter(({ type }) => type === "replace-part").length,
    hidden: shown.length - kept.length,
    folded: Math.max(0, messages.length - shown.length),
  };
}

/** The turns of a request that Anthropic's rules allow, which are the strictest. */
function turnsOf(messages: Transcript): readonly Turn[] {
  const talk = messages.filter(({ role }) => role !== "system").map(withoutReasoning);
  const request = anthropic.encode(talk);
  const names = new Map<string, string>();
  const turns = asArray(asObject(request).messages).map((item): Turn => {
    const { role, content } = asObject(item);
    const values = typeof content === "string" ? [{ type: "text", text: content }] : asArray(content);
    const blocks = values.flatMap((value) => blockOf(asObject(value), names));
    return { role: role === "assistant" ? "assistant" : "user", blocks };
  });
  // A request that ends with an answer asks to go on; here the user does that.
  const last = turns.at(-1)?.blocks;
  const isAsked = last?.length === 1 && last[0]?.type === "text" && last[0].text === CONTINUE_REQUEST;
  const isOurs = isAsked && talk.at(-1)?.role === "assistant";
  return isOurs ? turns.slice(0, -1) : turns;
}

function filesOf(part: Part): number {
  if (part.type === "file") return 1;
  return part.type === "tool" && part.outcome.status === "done" ? part.outcome.attachments.length : 0;
}

/** Reasoning is signed or encrypted by whoever made it. */
function withoutReasoning(message: Message): Message {
  const parts = message.parts.filter(({ type }) => type !== "reasoning");
  return parts.length === message.parts.length ? message : { ...message, parts };
}

function blockOf(value: Readonly<Record<string, unknown>>, names: Map<string, string>): readonly Block[] {
  const id = asString(value.id) ?? asString(value.tool_use_id) ?? "";
  switch (value.type) {
    case "text":
      return [{ type: "text", text: asString(value.text) ?? "" }];
    case "tool_use": {
      const tool = asString(value.name) ?? "";
      names.set(id, tool);
      return [{ type: "call", id, tool, input: value.input }];
    }
    case "tool_result": {
      const { content } = value;
      const text = typeof content === "string" ? content : asArray(content).map(textOf).join("\n");
      return [{ type: "result", id, tool: names.get(id) ?? "", text, isError: value.is_error === true }];
    }
    default:
      return [];
  }
}

function textOf(block: unknown): string {
  const { type, text } = asObject(block);
  return asString(text) ?? `[${asString(type) ?? "unknown"}]`;
}

function noticeOf({ format, sessionId, path, damagedLines = 0 }: HandoffSource, facts: HandoffFacts): string {
  const name = sessionId === undefined ? "" : ` ${sessionId}`;
  const done = [
    `${plural(facts.calls, "tool call")} with ${facts.calls === 1 ? "its result" : "their results"}`,
    facts.shortened > 0 ? `${plural(facts.shortened, "part")} shortened to fit` : "",
    facts.leftOut > 0
      ? `${plural(facts.leftOut, "message")} left out that a summary stands for, or that did not fit`
      : "",
    facts.secrets > 0 ? `${plural(facts.secrets, "secret")} taken out` : "",
    damagedLines > 0 ? `${plural(damagedLines, "damaged line")} left out` : "",
    facts.files > 0 ? `${plural(facts.files, "attached file")} named, not carried` : "",
    "reasoning left out",
    facts.foreign.length > 0
      ? `calls of ${facts.foreign.join(", ")}, not offered here, shown as comments of the shell`
      : "",
  ].filter((text) => text !== "");
  return `[Handed over by Carryover from ${AGENTS[format] ?? format}, session${name}: ${done.join("; ")}. The original is untouched: ${path}]`;
}

const AGENTS: Readonly<Partial<Record<FormatName, string>>> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  opencode: "OpenCode",
  opencode2: "OpenCode 2",
  pi: "pi",
};

/** The notice is the first text: of the user's first turn, or a turn of its own. */
function withNotice(turns: readonly Turn[], notice: string): readonly Turn[] {
  const [first, ...rest] = turns;
  // The next text is not glued to it where an agent shows both as one.
  const text: Block = { type: "text", text: `${notice}\n` };
  if (first?.role === "user") return [{ role: "user", blocks: [text, ...first.blocks] }, ...rest];
  return [{ role: "user", blocks: [text] }, ...turns];
}
