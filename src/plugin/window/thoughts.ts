import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import {
  bindThoughts,
  hideStaleThoughts,
  NO_BINDINGS,
  readThoughts,
  refuseThoughts,
  restoreBindings,
  sendThoughts,
  type ThoughtBindings,
} from "../../session/thoughts.ts";
import { createLruMap } from "../../text/lru-map.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { ModelRef, Transcript } from "../../transcript/message.ts";
import type { Feature, PluginContext } from "../context/context.ts";
import type { HostFormat } from "../host/agent-host.ts";
import { type PluginEntry, pluginJournal } from "../stores/journal.ts";
import { factsWith } from "./model-windows.ts";
import { createDecoder } from "./prune.ts";

/**
 * Leaves out the thoughts that the model's provider would refuse, since what stands before them is not what stood there when
 * they were made. It is asked before and after every feature that edits a request, so it sees what is really sent.
 */
export function createThoughtKeeper({ context, inherited }: ThoughtKeeperSetup): ThoughtKeeper {
  const { host } = context;
  const sessions = createLruMap<string, Promise<OpenSession>>(MAX_OPEN);

  function sessionOf(sessionId: string): Promise<OpenSession> {
    const known = sessions.get(sessionId);
    if (known !== undefined) return known;
    const opened = open(sessionId);
    sessions.set(sessionId, opened);
    opened.catch(() => sessions.delete(sessionId));
    return opened;
  }

  /** A session as the journal has it. */
  async function open(sessionId: string): Promise<OpenSession> {
    const { entries } = pluginJournal(await context.journal(await context.tree.rootOf(sessionId)).read());
    const own = entries.filter((entry) => entry.sessionId === sessionId);
    const stored = own.flatMap((entry) => (entry.type === "thoughts" ? [entry.bindings] : []));
    const bindings = stored.reduce<ThoughtBindings>(restoreBindings, NO_BINDINGS);
    const heads = own.flatMap((entry) => (entry.type === "thoughts" ? [entry.head] : []));
    const isOurs = stored.length > 0 || (await inherited(sessionId)) === "unchanged" || isUnedited(own);
    return {
      decode: createDecoder(host.format),
      decodeEdited: createDecoder(host.format),
      unedited: [],
      bindings,
      written: bindings.lines,
      head: heads.findLast((head) => head !== undefined),
      next: isOurs ? "bind" : "leave-out",
    };
  }

  /** Binds new thoughts, and gives the edits that leave out those that no longer hold. */
  function bind(session: OpenSession, transcript: Transcript): readonly Edit[] {
    const { bindings: before, unedited } = session;
    const known = readThoughts(transcript, before);
    // Thoughts of before our first request were made when nothing was edited.
    const made = before.sent === undefined ? readThoughts(unedited, before).before : [];
    const reading = { ...known, before: new Map([...known.before, ...made]) };
    const bindings =
      session.next === "bind"
        ? bindThoughts(before, { reading, source: unedited })
        : refuseThoughts(before, reading);
    const now = readThoughts(transcript, bindings);
    session.bindings = sendThoughts(bindings, { reading: now, source: unedited });
    session.next = "bind";
    return hideStaleThoughts(transcript, now.stale);
  }

  /** True where the provider refuses a thought behind an edit, or has just refused one. */
  function isRule({ bindings, next }: OpenSession, model: ModelRef): boolean {
    if (bindings.refused === true || next === "refused") return true;
    const { facts } = context.options.models[`${model.provider}/${model.id}`] ?? {};
    return factsWith(model, facts).afterEdit === "refused";
  }

  const watch: Feature = {
    name: "thoughts as they came",
    async beforeRequest({ sessionId, messages, model }) {
      const session = await sessionOf(sessionId);
      if (isRule(session, model)) session.unedited = session.decode(messages);
      return undefined;
    },
  };
  const feature: Feature = {
    name: "thoughts",
    async beforeRequest({ sessionId, messages, model, head }) {
      const session = await sessionOf(sessionId);
      if (!isRule(session, model)) return undefined;
      const isOtherHead = head !== undefined && session.head !== undefined && head !== session.head;
      // Other tools or another system prompt stand before every thought.
      if (isOtherHead && session.next === "bind") session.next = "leave-out";
      session.head = head ?? session.head;
      if (session.next === "refused") session.bindings = { ...session.bindings, refused: true };
      const edits = bind(session, session.decodeEdited(messages));
      const { lines, ...others } = session.bindings;
      const bound = [...lines].filter(([id, line]) => session.written.get(id) !== line);
      session.written = lines;
      context.record(sessionId, {
        type: "thoughts",
        ...{ bindings: { bound, ...others }, leftOut: edits.length },
        ...(session.head !== undefined && { head: session.head }),
      });
      return edits.length === 0 ? undefined : host.format.apply(messages, edits, { at: context.now() });
    },
    async onSignal(signal) {
      if (signal.type === "deleted") sessions.delete(signal.sessionId);
      if (signal.type !== "failed") return;
      if (classifyProviderError(signal.error.message).recovery !== "leave-out-thoughts") return;
      (await sessionOf(signal.sessionId)).next = "refused";
      context.notify.log("warn", `a thought was refused, so none is sent again: ${signal.error.message}`);
      context.notify.toast(
        "The provider refused a thought of the model. From the next request on it is left out.",
        "warning",
      );
    },
  };
  return { watch, feature };
}

/** The first and the last feature that is asked. */
export interface ThoughtKeeper {
  readonly watch: Feature;
  readonly feature: Feature;
}

interface ThoughtKeeperSetup {
  readonly context: PluginContext;
  /** How a session begins with the messages of another one; `changed`: not as they were sent there. */
  readonly inherited: (sessionId: string) => Promise<"unchanged" | "changed" | "nothing">;
}

interface OpenSession {
  readonly decode: HostFormat["decode"];
  readonly decodeEdited: HostFormat["decode"];
  /** The messages of the newest request before any feature edited them. */
  unedited: Transcript;
  bindings: ThoughtBindings;
  /** What the journal has of them. */
  written: ThoughtBindings["lines"];
  /** Of the newest request. */
  head: string | undefined;
  /** What becomes of thoughts that are not known yet; after a refusal none is sent again. */
  next: "bind" | "leave-out" | "refused";
}

/** True for a session that we were in before, and in which nothing was edited: an earlier version noted no thoughts. */
function isUnedited(entries: readonly PluginEntry[]): boolean {
  return entries.length > 0 && !entries.some(({ type }) => type === "engine" || type === "compaction");
}

/** Each holds a whole conversation. */
const MAX_OPEN = 32;
