import { compact } from "../../compaction/compact.ts";
import { planCompaction } from "../../compaction/plan/plan-compaction.ts";
import { factsOf } from "../../compaction/summary/facts.ts";
import type { Pin } from "../../compaction/summary/pins.ts";
import { overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { renderMessage } from "../../transcript/content.ts";
import { type Handle, hideMessage } from "../../transcript/edit.ts";
import { isSummary, type Message, type MessageId, type Transcript } from "../../transcript/message.ts";
import type { Feature, PluginContext } from "../context/context.ts";
import type { HostMessage } from "../host/agent-host.ts";
import type { CompactedWindow, CompactionMoment, HostCheckpoints } from "../host/host-parts.ts";
import { type ArchivedWindow, createArchivedWindows, handleIn, handleLine } from "../stores/folds.ts";
import { pluginJournal } from "../stores/journal.ts";
import type { ModelWindows } from "./model-windows.ts";
import { readPinnedFiles } from "./pinned-files.ts";
import type { PinnedTexts } from "./pins.ts";

/** Compaction by Carryover as a feature of the plugin, and the way to take one back from outside. */
export interface OwnCompaction {
  readonly feature: Feature;
  /** True for a session in whose requests a summary of ours was seen. */
  isOpen(sessionId: string): boolean;
  /** When the newest compaction was made that is in force; undefined where none is. */
  newestAtMs(sessionId: string): Promise<number | undefined>;
  /** Takes it back: from the next request on its messages are sent again. */
  undo(sessionId: string): Promise<UndoneCompaction | undefined>;
}

interface UndoneCompaction {
  readonly handle: Handle;
  /** How many messages are shown again. */
  readonly messages: number;
}

/**
 * Gives the agent a summary in place of its own: summarized without a model, with the user's words and files beside it,
 * and the handles under which everything is kept. The summary that the agent sends from then on is completed in every
 * request by the messages that stay word for word, unless the agent keeps these itself: then it is told where they
 * begin, and what it stored is not ours to take back. Where nothing can be compacted or kept, the agent sums up as it
 * always does.
 */
export function createOwnCompaction(setup: OwnCompactionSetup): OwnCompaction {
  const { checkpoints } = setup.context.host.format;
  return checkpoints === undefined ? NONE : createFolding(setup, checkpoints);
}

/** In an agent in which a summary can be neither found nor completed. */
const NONE: OwnCompaction = {
  feature: { name: "own compaction" },
  isOpen: () => false,
  newestAtMs: async () => undefined,
  undo: async () => undefined,
};

function createFolding(setup: OwnCompactionSetup, checkpoints: HostCheckpoints): OwnCompaction {
  const { context, roster } = setup;
  const { host, options, stores } = context;
  const { format } = host;
  const archivedWindows = createArchivedWindows({ requests: stores.requests, format });
  const sessions = createLruMap<string, Promise<OpenSession>>(MAX_OPEN);

  function openSession(sessionId: string): Promise<OpenSession> {
    const known = sessions.get(sessionId);
    if (known !== undefined) return known;
    const opened = readSession(sessionId);
    sessions.set(sessionId, opened);
    opened.catch(() => sessions.delete(sessionId));
    return opened;
  }

  /** What the journal says of a session's compactions. */
  async function readSession(sessionId: string): Promise<OpenSession> {
    const { entries } = pluginJournal(await context.journal(await context.tree.rootOf(sessionId)).read());
    const made = new Map<Handle, MadeCompaction>();
    const undone = new Set<Handle>();
    for (const entry of entries) {
      if (entry.sessionId !== sessionId) continue;
      if (entry.type === "compaction") made.set(entry.handle, entry);
      if (entry.type === "compaction-undone") undone.add(entry.handle);
    }
    return { made, undone, current: undefined };
  }

  /** The messages with the newest summary completed, if it is ours. */
  async function completed(sessionId: string, messages: readonly HostMessage[]): Promise<Completed> {
    const found = checkpoints.find(messages).at(-1);
    const message = found && messages[found.index];
    if (found === undefined || message === undefined) return { messages };
    const handle = handleIn(found.summary);
    const archivedWindow = handle === undefined ? undefined : await archivedWindows.get(handle);
    if (handle === undefined || archivedWindow === undefined) {
      if (handle !== undefined) context.notify.logOnce("warn", `what was compacted into ${handle} is gone`);
      const { summary: text } = found;
      return { messages, summary: { message, prose: text, text, carried: undefined } };
    }
    const session = await openSession(sessionId);
    session.current = handle;
    const head = checkpoints.write(message, found.summary);
    const window = await windowOf({ handle, archivedWindow, head, undone: session.undone });
    return {
      messages: messages.toSpliced(found.index, 1, ...window.messages),
      ...(window.summary && { summary: window.summary }),
      earlier: { handle, count: found.index + window.messages.length },
    };
  }

  /** What stands in the window for an archived one: its summary and what was kept, or everything where it was taken back. */
  async function windowOf({ handle, archivedWindow, head, undone }: WindowPlace): Promise<Window> {
    const { kept, prose, text, carried, earlier, messages } = archivedWindow;
    if (checkpoints.keepsTail) return { messages: [head], summary: { message: head, prose, text, carried } };
    if (!undone.has(handle))
      return { messages: [head, ...kept], summary: { message: head, prose, text, carried } };
    const before = earlier && (await archivedWindows.get(earlier.handle));
    const [first] = messages;
    if (earlier === undefined || before === undefined || first === undefined) return { messages };
    const start = await windowOf({ handle: earlier.handle, archivedWindow: before, head: first, undone });
    return { ...start, messages: [...start.messages, ...messages.slice(earlier.count)] };
  }

  /** The compactions that the newest request stands on, newest first, without those that were taken back. */
  async function newestInForce(sessionId: string): Promise<MadeCompaction | undefined> {
    const session = await sessions.get(sessionId);
    if (session === undefined || checkpoints.keepsTail) return undefined;
    let handle = session.current;
    while (handle !== undefined && session.undone.has(handle))
      handle = (await archivedWindows.get(handle))?.earlier?.handle;
    if (handle === undefined) return undefined;
    return session.made.get(handle) ?? { handle, atMs: 0, messages: 0 };
  }

  async function compactWindow(moment: CompactionMoment): Promise<CompactedWindow | undefined> {
    const { sessionId } = moment;
    const { messages, summary, earlier } = await completed(sessionId, await moment.messages());
    const transcript = format.decode(messages);
    const summaryId = summary && format.decode([summary.message]).at(-1)?.id;
    const conversation = withSummary(transcript, summaryId, summary);
    const summarized = await summarizeWindow(setup, conversation, { ...moment, ...(summary && { summary }) });
    if (summarized === undefined) return undefined;
    const { keptIds, prose, carried, text, messages: replacedCount, tokensBefore, tokensAfter } = summarized;
    const edits = transcript
      .filter(({ id }) => !keptIds.has(id))
      .map((message) => hideMessage(message, { stage: "compaction", reason: "summarized" }));
    const kept = format.apply(messages, edits, { at: context.now() });
    const archivedWindow: ArchivedWindow = {
      messages,
      kept,
      prose,
      carried,
      text,
      ...(earlier && { earlier }),
    };
    const stored = await archivedWindows.put(archivedWindow);
    if ("reason" in stored) {
      context.notify.log("warn", `the agent sums up itself: ${stored.reason}`);
      return undefined;
    }
    const { handle } = stored;
    const session = await openSession(sessionId);
    const made = { handle, messages: replacedCount, kept: keptIds.size, tokensBefore, tokensAfter };
    session.made.set(handle, { ...made, atMs: context.now() });
    // The same window compacted again is a new compaction.
    session.undone.delete(handle);
    context.record(sessionId, { type: "compaction", ...made });
    const forks = await roster(sessionId);
    const hasRecall = await context.host.sessions.hasTool(sessionId, "recall");
    const tail = checkpoints.keepsTail && tailOf(transcript, keptIds);
    const shown = [
      text,
      ...(tail ? tail.before.map((message) => `${KEPT_APART}\n${renderMessage(message)}`) : []),
      ...(forks === undefined ? [] : [forks]),
      handleLine(handle, hasRecall),
    ];
    const firstKept = tail?.messages[0];
    return { summary: shown.join("\n\n"), ...(firstKept && { firstKeptId: firstKept.id }) };
  }

  return {
    isOpen: (sessionId) => !checkpoints.keepsTail && sessions.get(sessionId) !== undefined,
    newestAtMs: async (sessionId) => (await newestInForce(sessionId))?.atMs,
    async undo(sessionId) {
      const newest = await newestInForce(sessionId);
      if (newest === undefined) return undefined;
      const { handle, messages } = newest;
      (await openSession(sessionId)).undone.add(handle);
      context.record(sessionId, { type: "compaction-undone", handle });
      return { handle, messages };
    },
    feature: {
      name: "own compaction",
      async compact(moment) {
        const isOn = isOwn(options.compaction) && options.profile !== "documented";
        return isOn ? compactWindow(moment) : undefined;
      },
      // Also where the option was changed since: a summary of ours is never sent without what belongs to it.
      async beforeRequest({ sessionId, messages }) {
        const { messages: edited } = await completed(sessionId, messages);
        return edited === messages ? undefined : edited;
      },
      async onSignal(signal) {
        if (signal.type === "deleted") sessions.delete(signal.sessionId);
      },
    },
  };
}

/** What stays at the end of a conversation without a gap, and what else stays before it. */
function tailOf(transcript: Transcript, keptIds: ReadonlySet<MessageId>): KeptTail {
  const start = transcript.findLastIndex(({ id }) => !keptIds.has(id)) + 1;
  const before = transcript.slice(0, start).filter(({ id }) => keptIds.has(id));
  return { messages: transcript.slice(start), before };
}

interface KeptTail {
  readonly messages: Transcript;
  readonly before: Transcript;
}

const KEPT_APART = "Still in force, word for word:";

interface OwnCompactionSetup {
  readonly context: PluginContext;
  readonly pins: PinnedTexts;
  readonly windows: ModelWindows;
  /** What the model must know of the forks of a session; undefined where there are none. */
  readonly roster: (sessionId: string) => Promise<string | undefined>;
}

interface OpenSession {
  readonly made: Map<Handle, MadeCompaction>;
  readonly undone: Set<Handle>;
  /** The archived window whose summary the newest request began with. */
  current: Handle | undefined;
}

interface MadeCompaction {
  readonly handle: Handle;
  readonly atMs: number;
  readonly messages: number;
}

interface Completed extends Window, Pick<ArchivedWindow, "earlier"> {}

interface Window {
  readonly messages: readonly HostMessage[];
  readonly summary?: ShownSummary;
}

/** The summary that a window begins with; without facts where it is not ours. */
interface ShownSummary extends Pick<ArchivedWindow, "prose" | "carried" | "text"> {
  readonly message: HostMessage;
}

interface WindowPlace {
  readonly handle: Handle;
  readonly archivedWindow: ArchivedWindow;
  /** The message of the agent that holds the summary. */
  readonly head: HostMessage;
  readonly undone: ReadonlySet<Handle>;
}

const MAX_OPEN = 32;

/** True where Carryover makes the summaries. */
export function isOwn(compaction: PluginContext["options"]["compaction"]): boolean {
  return compaction === "local" || compaction === "model";
}

/** The conversation as a compaction reads it: the summary known as one, with its facts as data, and no system messages, which the agent sends anew. */
function withSummary(
  transcript: Transcript,
  summaryId: MessageId | undefined,
  { prose = "", carried }: Partial<ShownSummary> = {},
): Transcript {
  return transcript.flatMap((message) => {
    if (message.role === "system") return [];
    if (message.id !== summaryId) return [message];
    const metadata = { ...message.metadata, kind: "compaction_summary", ...(carried && { carried }) };
    const known: Message = { ...message, parts: [{ type: "text", text: prose, synthetic: true }], metadata };
    return [known];
  });
}

/** A window that was compacted. */
interface Summarized extends Pick<ArchivedWindow, "prose" | "carried" | "text"> {
  readonly keptIds: ReadonlySet<MessageId>;
  /** How many messages it stands for. */
  readonly messages: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The summary of a window and what stays behind it: what fits by default, less where all of it would. */
async function summarizeWindow(
  { context, pins, windows }: OwnCompactionSetup,
  transcript: Transcript,
  { model, summarizer, summary }: CompactionMoment & Pick<Window, "summary">,
): Promise<Summarized | undefined> {
  const { redaction, options, env } = context;
  const files = await readPinnedFiles(context.host.directory, pins.globs);
  const pinned: readonly Pin[] = [
    ...pins.pinsOf(transcript),
    ...files.map(({ name, content }) => ({ text: `${name}:\n${content}` })),
  ];
  const limits = model && windows.windowOf(`${model.provider}/${model.id}`)?.limits;
  const isByModel = options.compaction === "model" && summarizer !== undefined;
  const ports = { clock: createSystemClock(), ...(isByModel && { summarizer }) };
  let tokensBefore = 0;
  for (const trigger of ["threshold", "manual"] as const) {
    const plan = planCompaction({
      transcript,
      trigger,
      pins: pinned,
      redaction,
      autoContinue: "never",
      overflow: overflowOfEnvironment(env),
      ...(limits && { limits }),
      ...(model && { model: { provider: model.provider, id: model.id } }),
    });
    tokensBefore = plan.tokensBefore;
    if (plan.status === "nothing") continue;
    // The agent sends the summary in the name of the user: lines that tools printed are not among the facts.
    const facts = { ...plan.facts, keyFacts: [] };
    const outcome = await compact({ ...plan, facts }, ports, { at: context.now() });
    if (outcome.status === "unchanged") continue;
    const { tokensAfter, messages } = outcome;
    const { parts = [], metadata } = messages.find(({ id }) => id === plan.ids.summary) ?? {};
    return {
      prose: outcome.summary,
      carried: metadata?.carried,
      text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n"),
      keptIds: new Set(plan.keptIds),
      messages: plan.replacedIds.length,
      tokensBefore,
      tokensAfter,
    };
  }
  const maxTokens = (limits?.contextTokens || ASSUMED_TOKENS) * SMALL_SHARE;
  const rest = transcript.filter((message) => !isSummary(message));
  if (rest.length === 0 || tokensBefore > maxTokens) return undefined;
  // Too small to gain anything: all of it stays.
  const text = factsOf(transcript, { pins: pinned, budget: SMALL_BUDGET, redaction });
  return {
    ...(summary ?? { prose: NOTHING_FOLDED, carried: undefined, text: `${NOTHING_FOLDED}\n\n${text}` }),
    keptIds: new Set(rest.map(({ id }) => id)),
    messages: 0,
    tokensBefore,
    tokensAfter: tokensBefore,
  };
}

/** A window that the agent did not name. */
const ASSUMED_TOKENS = 32_000;
const SMALL_SHARE = 0.5;
const SMALL_BUDGET = { wordsChars: 8_000, filesChars: 1_000 };
const NOTHING_FOLDED = "Nothing had to be summed up yet.";
