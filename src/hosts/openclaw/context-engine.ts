import { join } from "node:path";
import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import type { ModelLimits } from "../../compaction/trigger/overflow.ts";
import type { Conversation } from "../../middleware/conversation.ts";
import { openConversation } from "../../middleware/open-conversation.ts";
import { answerRecall, readRecallInput } from "../../middleware/recall-tool.ts";
import { readSessionOptions, type SessionOptions } from "../../session/options.ts";
import { createOutputTrimming } from "../../session/output-limits.ts";
import type { Session } from "../../session/session.ts";
import { createFileOutputStore } from "../../stores/files/output-store.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { textOrJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import { isSummary, messageText } from "../../transcript/message.ts";
import { type AgentMessage, fromWire, toWire } from "./messages.ts";
import { createSessionRecords, type Kept, type RecordVersion } from "./session-records.ts";

/** The name of the tool that recalls. */
export const RECALL_TOOL = "recall";

/**
 * How the plugin is configured, in `plugins.entries.carryover.config`: the options of a session that JSON can hold. With
 * `compactAt: "never"` OpenClaw sums up, as without us. Everything has a default.
 */
export interface OpenClawSettings extends Omit<SessionOptions, KnownToHost> {
  /** Where outputs and states are kept. @default `openclaw` in the state folder */
  readonly folder?: string;
}

/** What OpenClaw itself says, and what JSON cannot hold. */
type KnownToHost =
  | "model"
  | "limits"
  | "summarizer"
  | "stages"
  | "estimator"
  | "systemChars"
  | "toolsChars"
  | "recallTool"
  | "onEvent";

type Params = UnknownObject;
type TurnParams = Params & { readonly messages: readonly AgentMessage[] };

/** What OpenClaw calls on the engine in its slot, and what the rest of the plugin needs of it. */
export interface ContextEngine {
  readonly info: object;
  ingest(params: Params): Promise<object>;
  /** The messages to send in place of these, within the budget. */
  assemble(params: TurnParams): Promise<object>;
  compact(params: Params): Promise<unknown>;
  /** Takes in a turn that was accepted, once. */
  commitTurn(params: TurnParams): Promise<object>;
  /** Does what is due after a turn, while a model can be asked. */
  maintain(params: Params): Promise<object>;
  /** Copies the record of the parent for a fork: it begins with the parent's window, and can recall what that left out. */
  prepareSubagentSpawn(params: Params): Promise<{ rollback(): Promise<void> } | undefined>;
  onSubagentEnded(params: Params): Promise<void>;
  /** Trims the output of a tool before the model reads it; undefined where it stays. */
  trimOutput(context: Params, tool: string, output: string): Promise<string | undefined>;
  recall(context: Params, input: unknown): Promise<string>;
}

/** An engine that keeps its states in a folder. Where it fails, OpenClaw sends its own messages. */
export function createContextEngine(folder: string, given: OpenClawSettings): ContextEngine {
  const { folder: _, ...settings } = given;
  const clock = createSystemClock();
  const outputs = createFileOutputStore({ root: join(folder, "outputs") });
  const records = createSessionRecords(join(folder, "sessions"));
  const open = createLruMap<string, OpenConversation>(MAX_OPEN);
  const options = readSessionOptions(settings, { clock });
  const trimOutput = createOutputTrimming(options, { store: outputs, recallTool: RECALL_TOOL });

  /** The conversation of a session: the open one, unless another process has written its record meanwhile. */
  async function conversationOf(key: string, llm?: LanguageModelCall): Promise<OpenConversation> {
    const { version, kept } = await records.get(key);
    const known = open.get(key);
    if (known?.version === version) return withModel(known, llm);
    return openOne({ key, version, saved: NOTHING_SAVED, messages: [] }, kept.state, llm);
  }

  /** The same with the model that can be asked for a summary now; without one, summaries are made without a model. */
  function withModel(known: OpenConversation, llm: LanguageModelCall | undefined): OpenConversation {
    if (known.ask.llm !== undefined && llm !== undefined) known.ask.llm = llm;
    if ((known.ask.llm === undefined) === (llm === undefined)) return known;
    return openOne(known, known.session.toJSON(), llm);
  }

  function openOne(as: Standing, restore: unknown, llm: LanguageModelCall | undefined): OpenConversation {
    const ask = { llm };
    const { session, conversation } = openConversation(
      undefined,
      {
        ...settings,
        recallTool: RECALL_TOOL,
        store: { outputs },
        ...omitUndefined({ restore, limits: as.limits, summarizer: llm && createSummarizer(ask) }),
      },
      { id: as.key },
    );
    const opened = { ...as, session, conversation, ask };
    open.set(as.key, opened);
    return opened;
  }

  /** Changes a record. An open conversation stays open, unless another process has written the record meanwhile. */
  async function update(key: string, change: (kept: Kept) => Kept): Promise<void> {
    const { before, after } = await records.update(key, change);
    const known = open.get(key);
    if (known?.version === before) known.version = after;
  }

  /** Keeps the state where edits have changed it, and again once a request was sent with them. */
  async function save(opened: OpenConversation, moment: "sent" | "edited"): Promise<void> {
    const edits = opened.session
      .status()
      .batches.map(({ id }) => id)
      .join();
    const isSame = opened.saved.edits === edits;
    if (isSame && (edits === "" || moment === "edited" || opened.saved.isSent)) return;
    const state = opened.session.toJSON();
    await update(opened.key, (kept) => ({ ...kept, state }));
    opened.saved = { edits, isSent: moment === "sent" };
  }

  async function assemble(params: TurnParams): Promise<readonly [readonly AgentMessage[], number]> {
    const opened = await conversationOf(keyOf(params));
    const contextTokens = asNumber(params.tokenBudget);
    opened.messages = params.messages;
    if (contextTokens !== undefined) {
      opened.limits = { contextTokens, outputTokens: 0 };
      opened.session.useModel(modelIn(params), opened.limits);
    }
    const { wire } = await opened.conversation.prepare(toWire(params.messages), {});
    await save(opened, "sent");
    return [fromWire(wire, clock.now()), opened.session.status().tokens];
  }

  async function forget(key: string): Promise<void> {
    open.delete(key);
    await records.forget(key);
  }

  return {
    info: {
      id: "carryover",
      name: "Carryover",
      ownsCompaction: options.settings.autoCompact,
      turnMaintenanceMode: "background",
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    },

    // Messages come whole with each `assemble`, and turns with `commitTurn`.
    ingest: async () => ({ ingested: false }),

    async assemble(params) {
      const [messages, estimatedTokens] =
        (await orUndefined(() => assemble(params))) ??
        ([params.messages, estimateTokens(JSON.stringify(params.messages))] as const);
      const systemPromptAddition = await memoryPrompt(params);
      return { messages, estimatedTokens, ...omitUndefined({ systemPromptAddition }) };
    },

    async compact(params) {
      if (!options.settings.autoCompact) return delegate(params);
      const opened = await conversationOf(keyOf(params), llmIn(params));
      if (opened.messages.length === 0)
        return { ok: true, compacted: false, reason: "no messages were assembled yet" };
      const tokensBefore = opened.session.status().tokens;
      const signal = params.abortSignal as AbortSignal | undefined;
      const { entry, tokens } = await opened.conversation.compact(toWire(opened.messages), signal);
      await save(opened, "edited");
      if (entry?.outcome !== "applied")
        return { ok: true, compacted: false, reason: entry?.note ?? "there is nothing to gain" };
      const inserted = opened.session.transcript().findLast(isSummary);
      const summary = inserted && messageText(inserted);
      const result = { ...omitUndefined({ summary }), tokensBefore, tokensAfter: tokens };
      return { ok: true, compacted: true, result };
    },

    async commitTurn(params) {
      const turn = textOrJson(params.advancementKey);
      let status: "committed" | "duplicate" = "committed";
      await update(keyOf(params), (kept) => {
        status = kept.turns.includes(turn) ? "duplicate" : "committed";
        return { ...kept, turns: [...kept.turns.filter((id) => id !== turn), turn].slice(-MAX_TURNS) };
      });
      const opened = open.get(keyOf(params));
      if (opened !== undefined && status === "committed")
        opened.messages = [...opened.messages, ...params.messages];
      return { status };
    },

    async maintain(params) {
      await orUndefined(async () => {
        const known = open.get(keyOf(params));
        if (known === undefined || known.messages.length === 0) return;
        const opened = withModel(known, llmIn(params));
        await opened.conversation.prepare(toWire(opened.messages), { purpose: "upkeep" });
        await opened.session.settled();
        await save(opened, "edited");
      });
      // The transcript is OpenClaw's: what leaves the window is only left out of requests.
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    },

    async prepareSubagentSpawn({ contextMode, parentSessionKey, childSessionKey }) {
      if (contextMode !== "fork") return undefined;
      const child = textOrJson(childSessionKey);
      await orUndefined(async () => {
        const { kept } = await records.get(textOrJson(parentSessionKey));
        await update(child, () => ({ ...kept, turns: [] }));
      });
      return { rollback: () => forget(child) };
    },

    async onSubagentEnded({ childSessionKey, reason }) {
      if (reason !== "completed") await orUndefined(() => forget(textOrJson(childSessionKey)));
    },

    trimOutput: (context, tool, output) =>
      orUndefined(async () => {
        const { text, handle } = (await trimOutput(tool, output)) ?? {};
        const added = handle === undefined ? [] : [handle];
        const addTo = (outputs: readonly string[]) => [...outputs, ...added].slice(-MAX_OUTPUTS);
        if (handle !== undefined)
          await update(keyOf(context), (kept) => ({ ...kept, outputs: addTo(kept.outputs) }));
        return text;
      }),

    async recall(context, input) {
      const { session, key } = await conversationOf(keyOf(context));
      const asked = readRecallInput(input);
      if (asked.search === undefined || asked.handle !== undefined) return answerRecall(session, asked);
      // Outputs that were trimmed on their way in are known here, not to the session.
      const { kept } = await records.get(key);
      for (const handle of kept.outputs.toReversed()) {
        const found = await session.recall({ search: asked.search, handle });
        if (found.status !== "missing") return answerRecall(session, { ...asked, handle });
      }
      return answerRecall(session, asked);
    },
  };
}

/** What stays when a conversation is opened again with or without a model for summaries. */
interface Standing {
  readonly key: string;
  version: RecordVersion;
  /** The edits that were last kept, and whether a request with them was sent by then. */
  saved: { readonly edits: string; readonly isSent: boolean };
  messages: readonly AgentMessage[];
  limits?: ModelLimits;
}

const NOTHING_SAVED: Standing["saved"] = { edits: "", isSent: false };

interface OpenConversation extends Standing {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly ask: { llm: LanguageModelCall | undefined };
}

const MAX_OPEN = 100;
const MAX_TURNS = 200;
const MAX_OUTPUTS = 500;

async function orUndefined<T>(run: () => Promise<T>): Promise<T | undefined> {
  return run().catch(() => undefined);
}

function keyOf({ sessionKey, sessionId }: Params): string {
  return asString(sessionKey) ?? asString(sessionId) ?? "unknown";
}

function modelIn({ runtimeSettings, model: name }: Params): { provider: string; id: string } {
  const { provider, resolved } = asObject(asObject(runtimeSettings).model);
  const id = asString(resolved) ?? asString(name) ?? "unknown";
  return { provider: asString(provider) ?? "openclaw", id };
}

/** How OpenClaw lets a plugin ask a model. */
type LanguageModelCall = (params: object) => Promise<unknown>;

function llmIn({ runtimeContext }: Params): LanguageModelCall | undefined {
  const { complete } = asObject(asObject(runtimeContext).llm);
  return typeof complete === "function" ? (complete as LanguageModelCall) : undefined;
}

function createSummarizer(ask: OpenConversation["ask"]): Summarizer {
  return {
    async summarize({ system, prompt, maxOutputTokens }, { signal }) {
      const answer = await ask.llm?.({
        systemPrompt: system,
        messages: [{ role: "user", content: prompt }],
        maxTokens: maxOutputTokens,
        purpose: "Carryover sums up a conversation",
        signal,
      });
      return asString(asObject(answer).text) ?? "";
    },
  };
}

/** What OpenClaw exports to plugins. It is absent outside of OpenClaw. */
const SDK: string = "openclaw/plugin-sdk/core";
const sdk = async (): Promise<UnknownObject> => asObject(await orUndefined(() => import(SDK)));

/** What a memory plugin adds to the system prompt. OpenClaw leaves it to the engine in the slot to pass it on. */
async function memoryPrompt({ sessionKey, ...params }: Params): Promise<string | undefined> {
  const { buildMemorySystemPromptAddition: build } = await sdk();
  const { availableTools = new Set(), citationsMode } = params;
  const asked = { availableTools, citationsMode, agentSessionKey: sessionKey };
  return typeof build === "function" ? orUndefined(async () => asString(build(asked))) : undefined;
}

async function delegate(params: object): Promise<unknown> {
  const { delegateCompactionToRuntime } = await sdk();
  if (typeof delegateCompactionToRuntime === "function") return delegateCompactionToRuntime(params);
  return { ok: false, compacted: false, reason: "OpenClaw's own compaction could not be reached" };
}
