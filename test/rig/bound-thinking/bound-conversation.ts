import type { ProviderCompactor } from "../../../src/compaction/ports/summarizer.ts";
import { anthropic } from "../../../src/formats/wires/anthropic/anthropic.ts";
import type { AnthropicMessage } from "../../../src/formats/wires/anthropic/read-message.ts";
import type { SessionEvent } from "../../../src/session/events.ts";
import { createSession, type Session } from "../../../src/session/session.ts";
import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import type { ProviderBlock } from "../../../src/transcript/part.ts";
import { createFakeClock, createFakeSummarizer } from "../fakes.ts";
import {
  type Account,
  bindsThinking,
  createThinkingCheck,
  isThought,
  type RefusedRequest,
  type ThinkingRead,
} from "./bound-thinking.ts";

/** A conversation with a strict provider: its host keeps the list of messages, and a session says what is sent of it. */
export interface BoundConversation {
  /** The user says something. */
  say(text: string): void;
  /** One request, its answer with thoughts and calls, and their results. */
  step(step: { readonly calls: number; readonly chars: number; readonly thoughts?: number }): Promise<void>;
  undo(): Promise<void>;
  /** The session is opened anew from what it stored. */
  restart(kept?: "all" | "without-bindings"): Promise<void>;
  play(operation: Operation): Promise<void>;
  report(): BoundReport;
  /** The newest request that was taken, as JSON. */
  newestRequest(): string;
}

/** Something that happens in a random history. */
export type Operation =
  | { readonly type: "step"; readonly calls: number; readonly chars: number; readonly thoughts?: number }
  | { readonly type: "say" | "undo" | "restart" | "compact" | "pause" }
  | { readonly type: "model"; readonly model: string };

interface BoundReport {
  /** Refusals, and requests that were given up after one. */
  readonly refused: number;
  readonly failed: number;
  readonly edits: number;
  /** Thoughts that were made, and those in the newest request. */
  readonly made: number;
  readonly sent: number;
  /** Thoughts that were sent before an edit and not after it, and what the events say of that. */
  readonly lost: number;
  readonly lostSaid: number;
  /** Thoughts that the provider would have taken, and that were not sent. */
  readonly needlesslyLost: number;
  /** Blocks that the provider made when it was asked, and what the events say that they used. */
  readonly blocks: number;
  readonly outputTokens: number;
  /** Whether the newest request began with one, and how many thoughts it had that are older than that. */
  readonly begins: "block" | "message";
  readonly keptThoughts: number;
  readonly warnings: readonly string[];
}

interface BoundOptions {
  readonly account?: Account;
  /** What the session takes the model for, or `nothing`; the provider always is one that checks. */
  readonly known?: string;
  readonly windowTokens?: number;
  /** How much a compaction keeps. */
  readonly tail?: number;
  /** The provider compacts when it is asked; what is kept may begin with any message, or with the user's, or it fails. */
  readonly onDemand?: "any" | "user" | "fails";
  /** What the provider says to a request with such a block, where it takes none. */
  readonly blockRefusal?: string;
}

const SYSTEM = "You are a careful engineer.";
const TOOLS = [{ name: "read", input_schema: { type: "object" } }];

/** A conversation without messages. */
export function createBoundConversation(options: BoundOptions = {}): BoundConversation {
  const { account = "new", known, windowTokens = 200_000, tail, onDemand, blockRefusal } = options;
  const check = createThinkingCheck({ account });
  const clock = createFakeClock();
  let model = "claude-opus-5-5";
  let messages: AnthropicMessage[] = [];
  let made = 0;
  let calls = 0;
  /** Thoughts of the last request, and those that were made since. */
  let available = 0;
  const counts = { refused: 0, failed: 0, edits: 0, sent: 0, lost: 0, lostSaid: 0, needlesslyLost: 0 };
  let idleMs = 0;
  /** Of thoughts that were made before the newest block. */
  let older = new Set<unknown>();
  const blocks = { blocks: 0, outputTokens: 0, begins: "message" as BoundReport["begins"], keptThoughts: 0 };
  const warnings: string[] = [];
  let newest = "";
  const provider: ProviderCompactor = {
    keptFrom: onDemand === "user" ? "user" : "any",
    async compact({ edits, instructions, maxOutputTokens }, { onUsage }) {
      if (onDemand === "fails") throw new Error("overloaded");
      const taken = read({ ...requestWith(edits), compaction: { type: "summarize", instructions } });
      onUsage?.({
        inputTokens: 0,
        outputTokens: maxOutputTokens,
        reasoningTokens: 0,
        cacheReadTokens: 1,
        cacheWriteTokens: 0,
      });
      if (taken.status === 400) {
        counts.refused++;
        throw new Error(taken.error.error.message);
      }
      blocks.blocks++;
      older = new Set(thoughtsIn({ messages }).map(({ signature }) => signature));
      return check.compact(taken, `## Goal\nRead the files, part ${blocks.blocks}.`) as ProviderBlock;
    },
  };

  let session = open();

  function open(): Session {
    return createSession(
      {
        clock,
        summarizer: {
          ...createFakeSummarizer("## Goal\nRead the files.\n## Done\nSome.\n## Next\nGo on."),
          ...(onDemand && { byProvider: provider }),
        },
      },
      {
        ...(known !== "nothing" && {
          model:
            known === undefined ? { provider: "anthropic", id: model } : { provider: "gateway", id: known },
        }),
        limits: { contextTokens: windowTokens, outputTokens: 4_000 },
        ...(tail !== undefined && { keepTokens: tail }),
        onEvent(event: SessionEvent) {
          if (event.type === "warning") warnings.push(event.code);
          if (event.type === "summary_usage") blocks.outputTokens += event.usage.outputTokens;
          if (event.type !== "context_changed") return;
          if (event.kind !== "restore") counts.edits++;
          counts.lostSaid += event.thoughtsLost ?? 0;
        },
      },
    );
  }

  const decoded = () => anthropic.decode(messages);
  const requestWith = (edits: ReturnType<Session["edits"]>): UnknownObject => ({
    model,
    system: SYSTEM,
    tools: TOOLS,
    messages: anthropic.apply(messages, edits, { at: 1 }),
  });
  const read = (body: UnknownObject, extra: object = {}): ThinkingRead =>
    check.read(
      { ...body, ...extra },
      { isPreserved: bindsThinking(model), beta: "thinking-binding-controls-2026-08-01" },
    );

  function refusedBlock(body: UnknownObject): RefusedRequest | undefined {
    if (blockRefusal === undefined || !JSON.stringify(body).includes('"type":"compaction"')) return undefined;
    return {
      status: 400,
      error: { type: "error", error: { type: "invalid_request_error", message: blockRefusal } },
    };
  }

  /** What the provider would keep if everything were sent. */
  function keepable(): number {
    const all = session.edits().filter((edit) => edit.type !== "hide-part" || edit.what !== "thought");
    const taken = read(requestWith(all), {
      thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
    });
    return taken.status === 200 ? countThoughts(taken.body) : 0;
  }

  async function send(): Promise<ThinkingRead | undefined> {
    for (let attempt = 0; attempt < 3; attempt++) {
      session.observe(decoded());
      await session.prepare({ moment: "after-turn", idleMs });
      idleMs = 0;
      session.sent();
      const body = requestWith(session.edits());
      const taken = refusedBlock(body) ?? read(body);
      if (taken.status === 200) {
        const sent = countThoughts(body);
        newest = JSON.stringify(body);
        blocks.keptThoughts = thoughtsIn(body).filter(({ signature }) => older.has(signature)).length;
        const first = asArray(asObject(asArray(body.messages)[0]).content).map(asObject)[0];
        blocks.begins = first?.type === "compaction" ? "block" : "message";
        counts.lost += Math.max(0, available - sent);
        counts.sent = sent;
        available = sent;
        counts.needlesslyLost += Math.max(0, keepable() - countThoughts(taken.body));
        return taken;
      }
      counts.refused++;
      const { recovery } = session.onProviderError(
        Object.assign(new Error(taken.error.error.message), { status: 400 }),
      );
      if (recovery === "none") break;
    }
    counts.failed++;
    return undefined;
  }

  const conversation: BoundConversation = {
    say(text) {
      messages = [...messages, { role: "user", content: [{ type: "text", text }] }];
    },

    async step({ calls: count, chars, thoughts = 1 }) {
      const last = messages.at(-1);
      if (last?.role === "assistant") conversation.say("Go on.");
      const taken = await send();
      if (taken?.status !== 200) return;
      const ids = Array.from({ length: count }, () => `call_${calls++}`);
      made += thoughts;
      available += thoughts;
      const content = check.sign(taken, [
        ...Array.from({ length: thoughts }, () => ({
          type: "thinking",
          thinking: "Considering.",
          signature: "",
        })),
        { type: "text", text: `Step ${calls}.` },
        ...ids.map((id) => ({ type: "tool_use", id, name: "read", input: { path: `src/${id}.ts` } })),
      ]);
      messages = [...messages, { role: "assistant", content }];
      if (count === 0) return;
      const results = ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: output(id, chars) }));
      messages = [...messages, { role: "user", content: results }];
    },

    async undo() {
      await session.undo();
    },

    async restart(kept = "all") {
      const { thoughts, ...others } = JSON.parse(JSON.stringify(session.toJSON())) as UnknownObject;
      const state = kept === "all" ? { ...others, thoughts } : others;
      session = open();
      messages = JSON.parse(JSON.stringify(messages)) as AnthropicMessage[];
      await session.restore(decoded(), state);
    },

    async play(operation) {
      switch (operation.type) {
        case "step":
          return conversation.step(operation);
        case "say":
          return conversation.say("And then?");
        case "undo":
          return conversation.undo();
        case "restart":
          return conversation.restart();
        case "compact":
          session.observe(decoded());
          await session.prepare({ demand: "manual", idleMs });
          return;
        case "pause":
          idleMs = 3_600_000;
          return;
        case "model":
          model = operation.model;
          session.useModel(
            { provider: "anthropic", id: model },
            { contextTokens: windowTokens, outputTokens: 4_000 },
          );
          return;
        default:
          operation satisfies never;
      }
    },

    newestRequest: () => newest,
    report: () => ({ ...counts, ...blocks, made, warnings }),
  };
  return conversation;
}

function output(id: string, chars: number): string {
  const line = `export const value_${id} = compute("${id}");\n`;
  return line.repeat(Math.ceil(chars / line.length)).slice(0, chars);
}

function countThoughts(body: UnknownObject): number {
  return thoughtsIn(body).length;
}

function thoughtsIn(body: UnknownObject): readonly UnknownObject[] {
  return asArray(body.messages)
    .flatMap((message) => asArray(asObject(message).content).map(asObject))
    .filter(isThought);
}
