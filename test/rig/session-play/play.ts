import type { SessionHook } from "../../../src/compaction/ask-hooks.ts";
import type { Clock, Summarizer } from "../../../src/compaction/ports/summarizer.ts";
import type { SessionAction } from "../../../src/session/action.ts";
import type { Journal } from "../../../src/session/journal.ts";
import type { SessionPorts, SessionStage } from "../../../src/session/options.ts";
import type { Session } from "../../../src/session/session.ts";
import { createMemoryJournal } from "../../../src/stores/memory/journal.ts";
import { hashText } from "../../../src/text/hash-text.ts";
import type { OutputStore } from "../../../src/tool-output/output-store.ts";
import { hideMessage } from "../../../src/transcript/edit.ts";
import type { Message, Transcript, Usage } from "../../../src/transcript/message.ts";
import { createSession, type EngineOptions } from "../engine-session.ts";
import { createFakeClock, type FakeClock } from "../fakes.ts";
import { deepFreeze } from "../notation.ts";
import {
  type Ask,
  ERRORS,
  type Event,
  MANAGEMENTS,
  type MessageSpec,
  MODELS,
  type Prepare,
  type Script,
} from "./script.ts";

/** In which of the ways that should make no difference a script is played. */
export interface Way {
  /** Everything the script asks in between is asked, or nothing. */
  readonly asks: "never" | "often";
  /** At each end of the script another session takes over, with what `toJSON` gives, or with the journal alone. */
  readonly restored: "never" | "from-state" | "from-journal";
  readonly clock: "moving" | "still" | "set-back";
  /** `whole`: each list as it is then; `copied`: as new objects; `one-by-one`: a list for each message. */
  readonly given: "whole" | "copied" | "one-by-one" | "appended";
}

/** The way with which others are compared. */
export const PLAIN: Way = { asks: "never", restored: "never", clock: "moving", given: "whole" };

/** What a session did at one step, as JSON; equal texts are equal outcomes. */
export interface Told {
  readonly event: string;
  readonly actions: readonly string[];
  /** What was sent; empty where nothing was. */
  readonly sent: string;
  /** So far. */
  readonly compactions: number;
}

/** Where a script can be taken up again, in this process or another: plain data. */
export interface Place {
  readonly step: number;
  readonly messages: Transcript;
  readonly state: unknown;
  readonly sentChars: number;
  readonly compactions: number;
  readonly nowMs: number;
}

/** Plays a script, from its beginning or from a place, to its end or until a step that follows one of its ends. */
export async function play(script: Script, way: Way, from?: Place, until?: number): Promise<Played> {
  const clock = createFakeClock(from?.nowMs);
  const world = createWorld(script, way, clock);
  const told: Told[] = [];
  let messages: Transcript = from?.messages ?? [];
  let sentChars = from?.sentChars ?? 0;
  let compactions = from?.compactions ?? 0;
  let state: unknown = from?.state;
  const open = (): Session =>
    createSession(world.ports(), {
      ...optionsOf(script),
      onEvent(event) {
        if (event.type === "context_changed" && event.kind === "compact") compactions++;
      },
    });
  let session = open();
  if (from !== undefined) await clock.runUntilDone(session.restore(copyOf(messages), state));

  async function prepare({ by, ...asked }: Prepare): Promise<readonly string[]> {
    if (by === "session") return [describe(await clock.runUntilDone(session.prepare(asked)))];
    const actions: string[] = [];
    let next: typeof asked = asked;
    for (let count = 0; count < MAX_ACTIONS; count++) {
      const action = session.nextAction(next);
      actions.push(describe(action));
      if (LEFT_TO_CALLER.has(action.type)) break;
      await clock.runUntilDone(session.run(action));
      if (action.type === "compact") next = { ...asked, demand: "none" };
    }
    return actions;
  }

  async function take(event: Event, index: number): Promise<readonly string[]> {
    switch (event.type) {
      case "messages": {
        const before = messages;
        for (const [place, spec] of event.messages.entries()) {
          const given = withNext(messages, spec, {
            script,
            sentChars,
            number: index * 10 + place,
            nowMs: world.now(),
          });
          if (way.given === "appended") for (const message of newOf(messages, given)) session.append(message);
          messages = given;
          if (way.given === "one-by-one") session.observe(messages);
        }
        if (messages !== before && way.given === "whole") session.observe(messages);
        if (messages !== before && way.given === "copied") session.observe(copyOf(messages));
        return [];
      }
      case "rewrite":
        messages = rewritten(messages, event);
        session.observe(way.given === "copied" ? copyOf(messages) : messages);
        return [];
      case "error":
        return [JSON.stringify(session.onProviderError(ERRORS[event.index]))];
      case "empty-answer": {
        const usage = usageOf(event.isFull ? 200_000 : 100, 0);
        return [session.onEmptyAnswer({ usage, finish: event.isFull ? "length" : "stop" })];
      }
      case "undo": {
        const undone = await clock.runUntilDone(session.undo());
        return [undone.status === "undone" ? `undone ${undone.batch.step}` : undone.status];
      }
      case "set-auto":
        return [session.change({ type: "set-auto", autoCompact: event.on }).status];
      case "model":
        session.useModel(MODELS[event.index] ?? MODELS[0], { contextTokens: script.contextTokens });
        return [];
      case "overhead":
        session.setOverhead({ systemChars: event.chars, toolsChars: event.chars / 2 });
        return [];
      case "management":
        session.setManagement(MANAGEMENTS[event.index] ?? {});
        return [];
      case "settled":
        await clock.runUntilDone(session.settled());
        return [];
      default:
        event satisfies never;
        return [];
    }
  }

  for (let index = from?.step ?? 0; index < (until ?? script.steps.length); index++) {
    const step = script.steps[index];
    if (step === undefined) break;
    world.setBack(step.setBackMs);
    if (way.asks === "often") for (const each of step.asks) ask(session, each);
    const outcome = await take(step.event, index);
    const given = script.prepares === "seldom" && index % 8 !== 7 ? undefined : step.prepare;
    const actions = given === undefined ? [] : await prepare(given);
    let sent = "";
    if (given !== undefined) {
      const shown = session.messages();
      sent = JSON.stringify(shown);
      sentChars = JSON.stringify(shown, timeless).length;
      if (script.saysSent) session.sent();
    }
    told.push({
      event: `${index} ${JSON.stringify(step.event)} ${JSON.stringify(given)}`,
      actions: [...outcome, ...actions],
      sent,
      compactions,
    });
    await clock.advance(step.pauseMs);
    if (!step.isEnd) continue;
    await clock.advance(EVERYTHING_COMES_MS);
    if (way.restored === "never" || (until !== undefined && index === until - 1)) continue;
    state = way.restored === "from-state" ? copyOf(session.toJSON()) : undefined;
    session = open();
    await clock.runUntilDone(session.restore(copyOf(messages), state));
  }
  const place: Place = {
    step: until ?? script.steps.length,
    messages,
    state: copyOf(session.toJSON()),
    sentChars,
    compactions,
    nowMs: clock.now(),
  };
  return { told, place };
}

interface Played {
  readonly told: readonly Told[];
  readonly place: Place;
}

/** More than any state needs. */
const MAX_ACTIONS = 40;
/** Longer than any summary may take, with a second try. */
const EVERYTHING_COMES_MS = 1_200_000;
const LEFT_TO_CALLER: ReadonlySet<string> = new Set(["none", "lower-output", "retry", "give-up"]);

/** What two plays told differently, as a short text; undefined where they told the same. Times may differ where a clock does. */
export function firstDifference(
  one: readonly Told[],
  other: readonly Told[],
  times: "same" | "differ",
): string | undefined {
  const shown = (sent: string): string =>
    times === "same" || sent === "" ? sent : JSON.stringify(JSON.parse(sent, timeless));
  for (const [index, each] of one.entries()) {
    const told = { ...each, sent: shown(each.sent) };
    const { actions = [], compactions } = other[index] ?? {};
    const sent = shown(other[index]?.sent ?? "");
    const at = `step ${told.event}`;
    if (told.actions.join("\n") !== actions.join("\n"))
      return `${at}\nactions ${clipped(told.actions)}\nbut     ${clipped(actions)}`;
    if (told.compactions !== compactions) return `${at}\ncompactions ${told.compactions} but ${compactions}`;
    if (told.sent === sent) continue;
    let same = 0;
    while (told.sent[same] === sent[same]) same++;
    const around = (text: string): string => text.slice(Math.max(0, same - 100), same + 200);
    return `${at}\nprojection …${around(told.sent)}…\nbut        …${around(sent)}…`;
  }
  return undefined;
}

const clipped = (actions: readonly string[]): string =>
  actions.map((text) => (text.length > 300 ? `${text.slice(0, 300)}…(${text.length})` : text)).join(" | ");

/** An action without what counts states of a session, and without figures about it. */
function describe(action: SessionAction): string {
  return JSON.stringify(action, (key, value: unknown) =>
    ["version", "arithmetic", "error"].includes(key) ? undefined : timeless(key, value),
  );
}

function timeless(key: string, value: unknown): unknown {
  return ["at", "createdAt", "clearedAt"].includes(key) ? undefined : value;
}

function ask(session: Session, wanted: Ask): void {
  switch (wanted.type) {
    case "next-action":
      session.nextAction(wanted.asked);
      break;
    case "messages":
      session.messages();
      break;
    case "status":
      session.status();
      break;
    case "state":
      session.toJSON();
      break;
    case "edits":
      session.edits();
      break;
    case "transcript":
      session.transcript();
      break;
    case "ledger":
      session.ledger();
      break;
    default:
      wanted satisfies never;
  }
}

/** The world of one play. The journal and the archive outlive a session; everything else is made anew for each. */
function createWorld(script: Script, way: Way, fake: FakeClock) {
  let backMs = 0;
  const startMs = fake.now();
  const now: Readonly<Record<Way["clock"], () => number>> = {
    moving: fake.now,
    still: () => startMs,
    "set-back": () => fake.now() - backMs,
  };
  const clock: Clock = { now: now[way.clock], sleep: fake.sleep };
  const journal: Journal | undefined =
    script.journal === "none" ? undefined : { ...createMemoryJournal(), keeps: script.journal };
  const outputs = createOutputs();
  return {
    now: clock.now,
    setBack(ms: number): void {
      backMs += ms;
    },
    ports: (): SessionPorts => ({
      clock,
      ...(script.summarizer !== "none" && { summarizer: createSummarizer(script.summarizer, clock) }),
      ...(journal && { journal }),
      ...(script.archive && { outputs }),
      ...(script.hook !== "none" && { hooks: [HOOKS[script.hook]] }),
    }),
  };
}

const HOOKS: Readonly<Record<Exclude<Script["hook"], "none">, SessionHook>> = {
  context: { name: "context", compacting: () => ({ context: ["Mind the tests."] }) },
  // Says so by what it is told, not by how often it was asked.
  veto: {
    name: "veto",
    compacting: ({ tokensBefore }) => (tokensBefore % 2 === 0 ? { veto: true } : undefined),
  },
  throws: {
    name: "throws",
    compacting: () => {
      throw new Error("broken");
    },
  },
};

/** Answers by what it is asked alone: another instance answers the same. */
function createSummarizer(kind: Exclude<Script["summarizer"], "none">, clock: Clock): Summarizer {
  const good = (prompt: string): string =>
    `## Goal\nShip the parser.\n## Progress\nPart ${hashText(prompt) % 1_000} was read.`;
  const answers: Readonly<Record<typeof kind, Summarizer["summarize"]>> = {
    good: async ({ prompt }) => good(prompt),
    slow: async ({ prompt }, { signal }) => {
      await clock.sleep(20_000, signal);
      return good(prompt);
    },
    "at-times-failing": async ({ prompt }) => {
      if (hashText(prompt) % 3 === 0) throw new Error("503 overloaded");
      return good(prompt);
    },
    failing: () => Promise.reject(new Error("503 overloaded")),
    nonsense: () => 42 as never,
    "too-long": async () => "word ".repeat(20_000),
    hanging: () => new Promise(() => {}),
    "by-provider": async ({ prompt }) => good(prompt),
  };
  const summarize = answers[kind];
  if (kind !== "by-provider") return { summarize };
  return {
    summarize,
    byProvider: {
      keptFrom: "any",
      async compact({ edits }) {
        const signature = `sig-${hashText(JSON.stringify(edits, timeless))}`;
        return { type: "compaction", content: "What the provider keeps of it.", signature };
      },
    },
  };
}

/** Gives handles that are the same wherever the same content is kept. */
function createOutputs(): OutputStore {
  const kept = new Map<string, string>();
  return {
    async put(content) {
      const text = String(content);
      const handle = `output-${hashText(text)}`;
      kept.set(handle, text);
      return { status: "stored", handle, sha256: handle, bytes: text.length };
    },
    get: async (handle) => kept.get(handle),
  };
}

const dropNotes: SessionStage = (transcript) =>
  transcript
    .filter(({ parts }) => parts.some((part) => part.type === "text" && part.text.startsWith("note")))
    .map((message) => hideMessage(message, { stage: "own", reason: "note" }));

function optionsOf(script: Script): EngineOptions {
  const { profile, background, toolSummaries, representation } = script;
  const strategy = toolSummaries === "as-profile" ? {} : { toolSummaryStrategy: toolSummaries };
  return {
    profile,
    representation,
    limits: { contextTokens: script.contextTokens, outputTokens: 1_000 },
    // So that a short script reaches the cutoff and the marks.
    compaction: { reserveTokens: 1_000, toolCallCutoff: 6, ...strategy },
    ...pruneOf(script),
    ...(script.model !== "from-answers" && { model: modelOf(script) }),
    ...(background !== "as-profile" && { backgroundCompaction: background }),
    ...(script.keepsTool && { perTool: { grep: { keep: "always" } } }),
    ...(script.pin && { pins: [{ text: "Never touch main." }] }),
    ...(script.stage && { stages: [dropNotes] }),
  };
}

function pruneOf({ prunes, profile, contextTokens }: Script): Pick<EngineOptions, "prune"> {
  if (prunes === "by-default") return {};
  if (prunes === "off") return { prune: "off" };
  if (profile === "documented") return { prune: { protectTokens: 1_000, minimumTokens: 200 } };
  return {
    prune: { lowTokens: contextTokens * 0.15, highTokens: contextTokens * 0.3, protectResults: 2 },
  };
}

const modelOf = ({ model }: Script) => MODELS[model === "from-answers" ? 0 : model];

const VOCABULARY = ["src/parse.ts", "ok", "数据", "error:", "value", "return", "12", "const"];
const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, index) => VOCABULARY[(index * (1 + (seed % 3)) + seed) % 8]).join(
    seed % 2 === 0 ? " " : "\n",
  );

interface Coming {
  readonly script: Script;
  readonly sentChars: number;
  /** Of the message: no other has it. */
  readonly number: number;
  readonly nowMs: number;
}

/** The list with the next message, or with the result of a call that waited. */
function withNext(
  messages: Transcript,
  spec: MessageSpec,
  { script, sentChars, number, nowMs }: Coming,
): Transcript {
  const id = `m${number}`;
  const dated = script.isDated ? { createdAt: nowMs } : {};
  const say = (role: string, text: string, rest: Partial<Message> = {}): Transcript => [
    ...messages,
    deepFreeze({ id, role, parts: [{ type: "text", text }], ...dated, ...rest }),
  ];
  const thought = spec.thinks ? [{ type: "reasoning", text: words(20, number) } as const] : [];
  const usage = spec.usage === "absent" ? {} : { usage: wrongly(spec.usage, { sentChars, number }) };
  const answered = { ...usage, model: modelOf(script), finish: "stop" } as const;
  const isStep =
    (spec.kind === "provider-block" && !script.hasProviderBlock) ||
    (OF_HOST.has(spec.kind) && !script.hasMarkers);
  const kind = isStep ? "step" : spec.kind;
  switch (kind) {
    case "request":
      return say("user", `request ${number} ${words(Math.min(spec.words, 2_500), number)}`);
    case "note":
      return say("assistant", `note ${number}`, answered);
    case "answer":
      return say("assistant", words(Math.min(spec.words, 2_500), number), {
        parts: [...thought, { type: "text", text: `answer ${number} ${words(spec.words % 1_000, number)}` }],
        ...answered,
      });
    case "unfinished":
      return say("assistant", words(30, number), { unfinished: true });
    case "media":
      return say("user", "", {
        parts: [
          { type: "text", text: `look at ${number}` },
          { type: "file", mime: "image/png" },
        ],
      });
    case "provider-block":
      return say("assistant", "", {
        parts: [
          { type: "opaque", name: "compaction", providerBlock: "openai" },
          { type: "text", text: "Going on." },
        ],
        ...answered,
      });
    case "marker":
      return say("user", "", {
        parts: [{ type: "compaction", trigger: number % 2 === 0 ? "auto" : "manual" }],
      });
    case "summary":
      return messages.at(-1)?.parts[0]?.type === "compaction"
        ? say("assistant", `## Goal\nThe host's summary ${number}.`, { summary: true, finish: "stop" })
        : messages;
    case "resolve":
      return resolved(messages, spec.words);
    case "step":
    case "pending":
      return say("assistant", "", {
        parts: [
          ...thought,
          ...Array.from({ length: spec.calls }, (_, call) => ({
            type: "tool" as const,
            callId: `c${number}-${call}`,
            tool: ["read", "bash", "grep", "read"][(number + call) % 4] ?? "read",
            input: { filePath: `src/file-${number % 5}.ts` },
            outcome:
              kind === "pending" && call === 0
                ? ({ status: "pending" } as const)
                : ({
                    status: "done",
                    output: words(spec.words, number + call),
                    attachments: [],
                  } as const),
          })),
        ],
        ...answered,
        finish: "tool-calls",
      });
    default:
      kind satisfies never;
      return messages;
  }
}

/** What means something else to the owner of a list than to somebody who appends. */
const OF_HOST: ReadonlySet<string> = new Set(["marker", "summary"]);

function resolved(messages: Transcript, count: number): Transcript {
  const index = messages.findLastIndex(({ parts }) =>
    parts.some((part) => part.type === "tool" && part.outcome.status === "pending"),
  );
  const message = messages[index];
  if (message === undefined) return messages;
  const parts = message.parts.map((part) =>
    part.type === "tool" && part.outcome.status === "pending"
      ? { ...part, outcome: { status: "done", output: words(count, index), attachments: [] } as const }
      : part,
  );
  return messages.with(index, deepFreeze({ ...message, parts }));
}

/** What of a list is new or different, for somebody who appends. */
function newOf(before: Transcript, after: Transcript): Transcript {
  return after.filter((message, index) => before[index] !== message);
}

function rewritten(messages: Transcript, { how, back }: Extract<Event, { type: "rewrite" }>): Transcript {
  const index = Math.max(0, messages.length - back);
  const message = messages[index];
  if (message === undefined) return messages;
  if (how === "cut") return messages.slice(0, index);
  if (how === "remove") return messages.toSpliced(index, 1);
  const parts = [{ type: "text", text: `changed ${words(40, index)}` }] as const;
  return messages.with(index, deepFreeze({ ...message, parts }));
}

interface UsageFacts {
  readonly sentChars: number;
  readonly number: number;
}

/** Usage of a request of this size, right or wrong in one of the ways in which providers report it. */
function wrongly(how: Exclude<MessageSpec["usage"], "absent">, { sentChars, number }: UsageFacts): Usage {
  const right = Math.ceil(sentChars / 4) + 200;
  const inputTokens = {
    right,
    zero: 0,
    half: right / 2,
    cumulative: right * (1 + (number % 7)),
    over: 250_000,
  };
  return usageOf(Math.ceil(inputTokens[how]), how === "zero" ? 0 : 50);
}

function usageOf(inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, outputTokens, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

/** What a process reads that another has written. */
function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
