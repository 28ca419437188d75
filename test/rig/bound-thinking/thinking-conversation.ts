import fc from "fast-check";
import { anthropic } from "../../../src/formats/wires/anthropic/anthropic.ts";
import type { AnthropicMessage } from "../../../src/formats/wires/anthropic/read-message.ts";
import { openaiResponses } from "../../../src/formats/wires/openai-responses/openai-responses.ts";
import type { SessionOptions } from "../../../src/session/options.ts";
import type { Session } from "../../../src/session/session.ts";
import { asArray, type UnknownObject } from "../../../src/text/unknown-value.ts";
import type { Transcript } from "../../../src/transcript/message.ts";
import { createFakeSummarizer } from "../fakes.ts";
import { SUMMARY, startSession } from "../session.ts";
import {
  type Account,
  BINDING_BETA,
  bindsThinking,
  createThinkingCheck,
  isThought,
  type TakenRequest,
} from "./bound-thinking.ts";

/** What happens next in a conversation. Where it is not the model's turn, the user says something first. */
export type ThinkingMove =
  | { readonly type: "ask" }
  /** An answer with calls, and their outputs of so many characters. */
  | {
      readonly type: "step";
      readonly thoughts: readonly ScriptedThought[];
      readonly outputs: readonly number[];
    }
  | { readonly type: "answer"; readonly thoughts: readonly ScriptedThought[] }
  /** A compaction by hand, with the tail that stays by default or without one. */
  | { readonly type: "compact"; readonly tail: "default" | "none" }
  | { readonly type: "undo" }
  /** The session goes on in another process. */
  | { readonly type: "restart" }
  | { readonly type: "model"; readonly id: ThinkingModel }
  /** A sub-agent starts from what its parent would send, and works so many steps. */
  | { readonly type: "fork"; readonly steps: number };

export type ScriptedThought = "told" | "empty" | "redacted";

export const THINKING_MODELS = ["claude-opus-5-5", "claude-opus-5", "gpt-6.1-sol"] as const;
export type ThinkingModel = (typeof THINKING_MODELS)[number];

export interface ThinkingPlayOptions {
  /** Unset: a new account, which is always checked. */
  readonly account?: Account;
  /** What every request says about thoughts that do not fit; unset: nothing. */
  readonly behavior?: "error" | "drop_block";
  /** Of the sessions, over small limits and default policy. */
  readonly session?: SessionOptions;
  /** The body of a request to Claude; unset: the messages to send, encoded by the format. */
  readonly encode?: (session: Session, request: UnknownObject) => UnknownObject;
}

export interface ThinkingReport {
  readonly requests: number;
  /** What the provider said against a thought; the conversation ends with the first. */
  readonly refusals: readonly string[];
  /** Thoughts that the model did not get although neither their answer nor anything before it was ever changed. */
  readonly lostNeedlessly: readonly string[];
  readonly thoughtsMade: number;
  /** Those that the model that made them got again at least once. */
  readonly thoughtsSent: number;
  /** Those that stood behind an edit, or in an edited answer, in at least one request: they may be lost. */
  readonly thoughtsBehindEdits: number;
  /** Those that the provider took out of requests, counted in each. */
  readonly thoughtsDropped: number;
  /** Edits that were made. */
  readonly batches: number;
}

/** Plays a script with a session and the format of Anthropic, against the check. */
export async function playThinking(
  script: readonly ThinkingMove[],
  options: ThinkingPlayOptions = {},
): Promise<ThinkingReport> {
  const { account = "new", behavior } = options;
  const { limits = { contextTokens: 12_000, outputTokens: 1_000 } } = options.session ?? {};
  const check = createThinkingCheck({ account });
  const refusals: string[] = [];
  const lost: string[] = [];
  const made = new Set<string>();
  const sent = new Set<string>();
  const behindEdits = new Set<string>();
  const counts = { requests: 0, thoughts: 0, dropped: 0, batches: 0, calls: 0 };
  let model: ThinkingModel = "claude-opus-5-5";

  /** Where a thought was made, and by whom. */
  interface Origin {
    /** What stands before its message, with that message itself. */
    readonly at: string;
    readonly model: string;
  }

  interface Talk {
    messages: AnthropicMessage[];
    session: Session;
    tail: "default" | "none";
    readonly thoughts: Map<string, Origin>;
  }

  function openSession(tail: Talk["tail"]): Session {
    const summarizer = createFakeSummarizer((_, __, index) => Promise.resolve(`${SUMMARY} Part ${index}.`));
    const { session } = startSession(
      {
        limits,
        systemChars: SYSTEM.length,
        ...(tail === "none" && { keepTokens: 0 }),
        ...options.session,
        onEvent(event) {
          if (event.type === "context_changed" && !NO_EDITS.includes(event.kind)) counts.batches++;
          options.session?.onEvent?.(event);
        },
      },
      { summarizer },
    );
    session.useModel(refOf(model), limits);
    return session;
  }

  function openTalk(messages: AnthropicMessage[], thoughts: ReadonlyMap<string, Origin>): Talk {
    return { messages, session: openSession("default"), tail: "default", thoughts: new Map(thoughts) };
  }

  const decoded = ({ messages }: Talk): Transcript => anthropic.decode(messages);

  async function restart(talk: Talk, tail: Talk["tail"]): Promise<void> {
    const state: unknown = JSON.parse(JSON.stringify(talk.session));
    talk.messages = JSON.parse(JSON.stringify(talk.messages));
    talk.session = openSession(tail);
    talk.tail = tail;
    await talk.session.restore(decoded(talk), state);
  }

  /** The user's words; results that nobody has answered yet are in the same message. */
  function ask(talk: Talk, words: string): void {
    const last = talk.messages.at(-1);
    const text = { type: "text", text: words };
    if (last?.role === "user")
      talk.messages.splice(-1, 1, { role: "user", content: [...asArray(last.content), text] });
    else talk.messages.push({ role: "user", content: [text] });
  }

  async function bodyOf(talk: Talk): Promise<UnknownObject | undefined> {
    talk.session.observe(decoded(talk));
    const action = await talk.session.prepare();
    if (action.type === "give-up") return undefined;
    const request = {
      model,
      max_tokens: 1_000,
      system: SYSTEM,
      tools: TOOLS,
      thinking: {
        type: "adaptive",
        ...(behavior && { block_binding: { prefix_mismatch_behavior: behavior } }),
      },
    };
    const { encode = (session, rest) => anthropic.encode(session.messages(), rest) } = options;
    const body = encode(talk.session, request);
    noteEdits(talk, body);
    return body;
  }

  /** Another vendor is sent what is said and done, and no thought of Claude's. */
  function askOther(talk: Talk, content: readonly UnknownObject[]): void {
    const sealed = JSON.stringify(openaiResponses.encode(talk.session.messages(), { model }));
    for (const signature of talk.thoughts.keys())
      if (sealed.includes(signature)) refusals.push(`${model} was sent a thought of Claude's`);
    talk.messages.push({ role: "assistant", content: content.filter((block) => !isThought(block)) });
  }

  /** One request and its answer; false when nothing more can be asked. */
  async function request(talk: Talk, content: readonly UnknownObject[]): Promise<boolean> {
    if (talk.messages.at(-1)?.role !== "user") ask(talk, `Request ${counts.requests}.`);
    const body = await bodyOf(talk);
    if (body === undefined) return false;
    counts.requests++;
    if (!model.startsWith("claude")) {
      askOther(talk, content);
      return true;
    }
    const beta = behavior === undefined ? undefined : BINDING_BETA;
    const seen = check.read(body, { beta, model, isPreserved: bindsThinking(model) });
    if (seen.status === 400) {
      refusals.push(seen.error.error.message);
      return false;
    }
    counts.dropped += seen.dropped.length;
    noteSent(talk, seen);
    const signed = check.sign(seen, content);
    const answered = { role: "assistant", content: signed };
    const at = check.prefixes({ ...body, messages: [...asArray(body.messages), answered] }).at(-1) ?? "";
    for (const block of signed.filter(isThought)) {
      const signature = sealOf(block);
      made.add(signature);
      talk.thoughts.set(signature, { at, model });
    }
    talk.messages.push(answered);
    return true;
  }

  /** Notes which thoughts stand behind a change, or in a message that was changed, in what would be sent. */
  function noteEdits({ thoughts }: Talk, body: UnknownObject): void {
    const unchanged = new Set(check.prefixes(body));
    for (const [signature, { at }] of thoughts) if (!unchanged.has(at)) behindEdits.add(signature);
  }

  /** Notes which thoughts the model has again, and which others it should have. */
  function noteSent({ thoughts }: Talk, { run }: TakenRequest): void {
    for (const [place, [signature, { model: maker }]] of [...thoughts].entries()) {
      if (maker !== model) continue;
      if (run.includes(signature)) sent.add(signature);
      else if (!behindEdits.has(signature)) lost.push(`request ${counts.requests}: thought ${place}`);
    }
  }

  function contentOf(thoughts: readonly ScriptedThought[], calls: readonly UnknownObject[]): UnknownObject[] {
    const [first = [], ...others] = thoughts.map((thought): readonly UnknownObject[] => {
      counts.thoughts++;
      if (thought === "redacted") return [{ type: "redacted_thinking" }];
      return [{ type: "thinking", thinking: thought === "told" ? `Thought ${counts.thoughts}.` : "" }];
    });
    const text = { type: "text", text: `Step ${counts.requests}.` };
    return [...first, text, ...others.flat(), ...calls];
  }

  async function step(talk: Talk, { thoughts, outputs }: ThinkingMove & { type: "step" }): Promise<boolean> {
    const calls = outputs.map(() => {
      const number = ++counts.calls;
      return { type: "tool_use", id: `call_${number}`, name: "read", input: { path: `src/${number}.ts` } };
    });
    if (!(await request(talk, contentOf(thoughts, calls)))) return false;
    const content = calls.map(({ id }, index) => ({
      type: "tool_result",
      tool_use_id: id,
      content: outputText(id, outputs[index] ?? 0),
    }));
    talk.messages.push({ role: "user", content });
    return true;
  }

  async function answer(talk: Talk, thoughts: readonly ScriptedThought[]): Promise<boolean> {
    if (!(await request(talk, contentOf(thoughts, [])))) return false;
    talk.session.observe(decoded(talk));
    await talk.session.prepare({ moment: "after-turn" });
    return true;
  }

  async function fork(parent: Talk, steps: number): Promise<boolean> {
    if (parent.messages.length === 0) return true;
    const body = await bodyOf(parent);
    if (body === undefined) return false;
    const sealed = JSON.stringify(body.messages);
    const inherited = [...parent.thoughts].filter(([signature]) => sealed.includes(signature));
    const child = openTalk(JSON.parse(sealed), new Map(inherited));
    ask(child, "You are a sub-agent: read one part.");
    for (let number = 0; number < steps; number++)
      if (!(await step(child, { type: "step", thoughts: ["told"], outputs: [9_000] }))) return false;
    return answer(child, ["empty"]);
  }

  async function move(talk: Talk, next: ThinkingMove): Promise<boolean> {
    switch (next.type) {
      case "ask":
        ask(talk, `Also look at part ${counts.requests}.`);
        return true;
      case "step":
        return step(talk, next);
      case "answer":
        return answer(talk, next.thoughts);
      case "compact":
        if (next.tail !== talk.tail) await restart(talk, next.tail);
        talk.session.observe(decoded(talk));
        await talk.session.prepare({ demand: "manual" });
        return true;
      case "undo":
        await talk.session.undo();
        return true;
      case "restart":
        await restart(talk, talk.tail);
        return true;
      case "model":
        model = next.id;
        talk.session.useModel(refOf(model), limits);
        return true;
      case "fork":
        return fork(talk, next.steps);
      default:
        return next satisfies never;
    }
  }

  const talk = openTalk([], new Map());
  for (const next of script) if (!(await move(talk, next))) break;
  return {
    requests: counts.requests,
    refusals,
    lostNeedlessly: lost,
    thoughtsMade: made.size,
    thoughtsSent: sent.size,
    thoughtsBehindEdits: behindEdits.size,
    thoughtsDropped: counts.dropped,
    batches: counts.batches,
  };
}

const SYSTEM = "You are a careful reader of code.";
const TOOLS = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }];

/** Changes of the context that are no edits. */
const NO_EDITS = ["undo", "restore", "base", "model"];

const refOf = (id: ThinkingModel) => ({ provider: id.startsWith("claude") ? "anthropic" : "openai", id });

function sealOf({ signature, data }: UnknownObject): string {
  return String(signature ?? data);
}

/** Lines that are all different, so that what is cut out of them can be told. */
function outputText(name: string, chars: number): string {
  const lines: string[] = [];
  for (let size = 0; size < chars; size += lines.at(-1)?.length ?? 1)
    lines.push(`${name}:${lines.length}: value ${(lines.length * 7_919) % 1_009} of the module is set\n`);
  return lines.join("") || "ok";
}

const thoughts = (maxLength: number): fc.Arbitrary<readonly ScriptedThought[]> =>
  fc.array(fc.constantFrom("told", "told", "empty", "redacted"), { maxLength });
const outputs = fc.array(fc.constantFrom(100, 2_000, 9_000, 60_000), { minLength: 1, maxLength: 3 });

/** Scripts of many steps, with everything in between that changes what is sent. */
export const randomThinkingScript: fc.Arbitrary<readonly ThinkingMove[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ type: fc.constant("step"), thoughts: thoughts(3), outputs }) },
    { weight: 4, arbitrary: fc.record({ type: fc.constant("answer"), thoughts: thoughts(2) }) },
    { weight: 2, arbitrary: fc.constant({ type: "ask" }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant("compact"), tail: fc.constantFrom("default", "none") }),
    },
    { weight: 2, arbitrary: fc.constant({ type: "undo" }) },
    { weight: 2, arbitrary: fc.constant({ type: "restart" }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant("model"), id: fc.constantFrom(...THINKING_MODELS) }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("fork"), steps: fc.nat(3) }) },
  ) as fc.Arbitrary<ThinkingMove>,
  { minLength: 1, maxLength: 40, size: "max" },
);
