import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readForkMetadata } from "../../fork/life/rebuild-record.ts";
import type {
  AgentHost,
  AgentPlugin,
  HostPrompt,
  HostSessions,
  HostValue,
  SessionFacts,
} from "../../plugin/host/agent-host.ts";
import { type ProcessIdentity, processState } from "../../stores/files/process-identity.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { ChildNotes, NotedChild } from "../child-notes.ts";
import type { AgentPlace } from "../places.ts";
import { type ChildRun, endLeftBehind, startChildRun } from "./child-process.ts";
import type { ChildEvent, ChildRights, FileAgent } from "./file-agent.ts";
import { markWaiting } from "./process-notes.ts";

/**
 * The children of forks in an agent of files: each is a session in the agent's own place, which the agent's own program goes
 * on with, without a terminal, in a process group of its own. It gets its prompt on stdin and says on stdout what it does.
 * A child outlives a crash of the process that started it; then its process is found by its note.
 */
export interface Children
  extends Pick<HostSessions, "createChild" | "limitChild" | "setNote" | "prompt" | "stop" | "status"> {
  /** What is known of a child's session; undefined for any other. */
  factsOf(sessionId: string): Promise<SessionFacts | undefined>;
  list(): Promise<readonly SessionFacts[]>;
  /** Who hears what children do. */
  listen(plugin: Pick<AgentPlugin, "onSignal" | "beforeTool">): void;
  /** What a session may do that starts children from now on. */
  setRights(parentSessionId: string, rights: ChildRights): void;
  /** Ends every process that was started here. */
  endAll(): void;
}

export function createChildren(setup: ChildrenSetup): Children {
  const { agent, place, notes, log } = setup;
  const running = new Map<string, Running>();
  const rights = new Map<string, ChildRights>();
  const prompts = new Map<string, Promise<unknown>>();
  const sinceMs = Date.now();
  let plugin: Pick<AgentPlugin, "onSignal" | "beforeTool"> | undefined;

  /** What is left of the parent's own limit of money, as far as its children say what they cost; unset without a limit. */
  async function parentsRest(child: NotedChild): Promise<number | undefined> {
    const { parentSessionId, rights: held } = ownFacts(child);
    const { maxUSD } = rights.get(parentSessionId) ?? held;
    if (maxUSD === undefined) return undefined;
    // The limit is that of one process: what was spent before it began is not of its money.
    const known = (await notes.list()).filter(({ atMs }) => atMs >= sinceMs);
    const ofParent = known.map(ownFacts).filter((own) => own.parentSessionId === parentSessionId);
    return ofParent.reduce((leftUSD, { costUSD }) => leftUSD - costUSD, maxUSD);
  }

  /** One prompt after the other: one that is not stored yet must not be cut short by the next. */
  function inLine<Value>(sessionId: string, job: () => Promise<Value>): Promise<Value> {
    const done = (prompts.get(sessionId) ?? Promise.resolve()).then(job);
    prompts.set(
      sessionId,
      done.catch(() => {}),
    );
    return done;
  }

  async function change(sessionId: string, own: Partial<OwnFacts>): Promise<void> {
    const child = await notes.of(sessionId);
    if (child !== undefined) await notes.set(sessionId, { own: { ...ownFacts(child), ...own } });
  }

  /** The process of a child that another process started, if it still runs. */
  async function leftBehind(sessionId: string): Promise<ProcessIdentity | undefined> {
    const child = await notes.of(sessionId);
    const { process } = child === undefined ? {} : ownFacts(child);
    return process === undefined || processState(process) === "gone" ? undefined : process;
  }

  /** Starts the program on a child's session. */
  async function start(child: NotedChild, text: string, maxUSD?: number): Promise<Running> {
    const { sessionId } = child;
    const { rights: held } = ownFacts(child);
    const leftUSD = await parentsRest(child);
    const mostUSD = Math.min(maxUSD ?? Number.POSITIVE_INFINITY, leftUSD ?? Number.POSITIVE_INFINITY);
    const limit = Number.isFinite(mostUSD) ? { maxUSD: Math.max(mostUSD, LEAST_USD) } : {};
    const args = agent.child.resume({ sessionId, rights: held, ...limit });
    const run = startChildRun({ agent, place, sessionId, args, text, folder: setup.folder });
    const started: Running = { run, maxUSD, isReplaced: false };
    running.set(sessionId, started);
    if (run.identity !== undefined) await change(sessionId, { process: run.identity });
    follow(sessionId, started).catch((cause: unknown) =>
      log("error", "a child was lost sight of", { cause: String(cause) }),
    );
    return started;
  }

  /** Tells the plugin what a child does, until its process ends. */
  async function follow(sessionId: string, child: Running): Promise<void> {
    await plugin?.onSignal({ type: "busy", sessionId });
    for await (const line of child.run.lines())
      for (const event of eventsIn(agent, line)) await handleEvent(sessionId, child, event);
    const reason = await child.run.ended;
    if (running.get(sessionId) === child) running.delete(sessionId);
    if (child.isReplaced) return;
    if (reason !== undefined) {
      const error = { kind: "child-ended", message: whyEnded(child, reason) };
      await plugin?.onSignal({ type: "failed", sessionId, error });
    }
    await plugin?.onSignal({ type: "idle", sessionId });
  }

  async function handleEvent(sessionId: string, child: Running, event: ChildEvent): Promise<void> {
    switch (event.type) {
      case "failed":
        child.failure = event.message;
        return;
      case "spent": {
        const { costUSD = 0, tokens } = event;
        await change(sessionId, { costUSD, tokens });
        const facts = await factsOf(sessionId);
        if (facts !== undefined) await plugin?.onSignal({ type: "updated", session: facts });
        return;
      }
      case "call": {
        const { callId, tool, input } = event;
        const refusal = await plugin?.beforeTool({ sessionId, callId, tool, input }).catch(String);
        if (refusal !== undefined && !child.isReplaced) await tellToReport(sessionId, child, refusal);
      }
    }
  }

  /** A call cannot be taken back here: at a limit the child is stopped, and asked once for its report. */
  async function tellToReport(sessionId: string, child: Running, refusal: string): Promise<void> {
    child.isReplaced = child.wasTold !== true;
    await child.run.end();
    const noted = await notes.of(sessionId);
    if (!child.isReplaced || noted === undefined) return;
    const again = await start(noted, refusal, child.maxUSD);
    again.wasTold = true;
  }

  async function factsOf(sessionId: string): Promise<SessionFacts | undefined> {
    const child = await notes.of(sessionId);
    return child && factsOfNote(agent, child);
  }

  async function stop(sessionId: string): Promise<HostValue<void>> {
    const child = running.get(sessionId);
    if (child !== undefined) {
      child.isReplaced = true;
      await child.run.end();
      running.delete(sessionId);
      return DONE;
    }
    const left = await leftBehind(sessionId);
    const isEnded = left === undefined || (await endLeftBehind(left));
    return isEnded ? DONE : refused("its process is not known well enough to be ended");
  }

  /** Stores the messages with which a child begins, in the agent's own place and by its own records. */
  async function write(sessionId: string, parent: string, messages: Transcript): Promise<void> {
    const at = Date.now();
    const { directory: cwd } = place;
    const head = { id: sessionId, cwd, at, title: "", newId: () => randomUUID() };
    // Hooks have this host too, and write no sessions.
    const { handOff } = await import("../../handoff/handoff.ts");
    const { content } = handOff(messages, {
      target: agent.name,
      head,
      secrets: "kept",
      calls: "kept",
      source: { format: agent.name, path: "" },
      notice: () => `[What follows is inherited from session ${parent}, by Carryover.]`,
    });
    const known = await agent.findSession(sessionId, place);
    const path = known ?? agent.child.sessionFile({ id: sessionId, atMs: at }, place);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, content, { mode: 0o600 });
  }

  /** Tells hooks that there may be a result. */
  function mark(parentSessionId: string, note: unknown, sessionId: string): void {
    if (agent.child.program !== undefined) return;
    markWaiting(place.env, parentSessionId, readForkMetadata(note)?.id ?? sessionId);
  }

  return {
    factsOf,
    list: async () => (await notes.list()).map((child) => factsOfNote(agent, child)),
    listen(receiver) {
      plugin = receiver;
    },
    setRights: (parentSessionId, held) => void rights.set(parentSessionId, held),
    async createChild({ rootSessionId, parentSessionId, title, note, inherited = [] }) {
      const held = rights.get(parentSessionId);
      if (held === undefined)
        return refused("what this session may do is not known any more: call fork again");
      const sessionId = randomUUID();
      try {
        await write(sessionId, parentSessionId, setup.decode(inherited));
        mark(parentSessionId, note, sessionId);
      } catch (cause) {
        return refused(`its session could not be written: ${String(cause)}`);
      }
      const own: OwnFacts = { title, parentSessionId, rights: held, costUSD: 0, tokens: 0 };
      const child = { sessionId, rootSessionId, note, callers: [], atMs: Date.now(), own };
      const kept = await notes.add(child);
      return kept.status === "failed" ? kept : { status: "ok", value: sessionId };
    },
    async limitChild({ childSessionId, parentSessionId }) {
      const child = await notes.of(childSessionId);
      const now = rights.get(parentSessionId);
      if (child === undefined || now === undefined) return refused("what it may do is not known");
      const { rights: held } = ownFacts(child);
      if (now.rank === held.rank && now.args.join("\n") !== held.args.join("\n"))
        return refused("it was started under other rules than hold here now: start a new fork");
      if (now.rank < held.rank) await change(childSessionId, { rights: now });
      return DONE;
    },
    async setNote(sessionId, note) {
      const child = await notes.of(sessionId);
      if (child !== undefined) mark(ownFacts(child).parentSessionId, note, sessionId);
      return notes.set(sessionId, { note });
    },
    async prompt({ sessionId, text, note, reply, maxUSD }: HostPrompt) {
      const child = await notes.of(sessionId);
      if (child === undefined) return refused("this agent lets nobody else speak in its sessions");
      if (reply === "none") {
        await write(sessionId, ownFacts(child).parentSessionId, setup.decode([agent.child.textLine(text)]));
        return DONE;
      }
      const keyed = note.promptKey === undefined ? text : `${text}\n\n${promptMark(note.promptKey)}`;
      return inLine(sessionId, async () => {
        // What it is doing is cut short by what it is told.
        await stop(sessionId);
        if (((await parentsRest(child)) ?? LEAST_USD) < LEAST_USD)
          return refused("the money that this session may spend (--max-budget-usd) is used up");
        const started = await start(child, keyed, maxUSD);
        return untilStored(started, async () => {
          const file = await agent.findSession(sessionId, place);
          return file !== undefined && (await readFile(file, "utf8")).includes(note.promptKey ?? "");
        });
      });
    },
    stop,
    async status(sessionId) {
      if (running.has(sessionId)) return "busy";
      if ((await notes.of(sessionId)) === undefined) return undefined;
      return (await leftBehind(sessionId)) === undefined ? "idle" : "busy";
    },
    endAll() {
      for (const child of running.values()) {
        child.isReplaced = true;
        child.run.leave();
      }
    },
  };
}

interface ChildrenSetup {
  readonly agent: FileAgent;
  readonly place: AgentPlace;
  readonly notes: ChildNotes;
  /** Where the output of children is kept while they run. */
  readonly folder: string;
  readonly decode: (messages: readonly object[]) => Transcript;
  readonly log: AgentHost["log"];
}

interface Running {
  readonly run: ChildRun;
  /** What it may cost, its report included. */
  readonly maxUSD: number | undefined;
  /** What its own events say went wrong. */
  failure?: string;
  /** It was stopped by us: its end is not reported. */
  isReplaced: boolean;
  /** It was told that it may only report. */
  wasTold?: boolean;
}

function whyEnded({ failure, run }: Running, reason: string): string {
  return [failure ?? reason, run.complaint()].filter((text) => text !== "").join(": ");
}

function eventsIn({ child }: FileAgent, line: string): readonly ChildEvent[] {
  try {
    return child.readEvent(asObject(JSON.parse(line)));
  } catch {
    return [];
  }
}

/** What is kept of a child beside what the plugin notes. */
interface OwnFacts {
  readonly title: string;
  readonly parentSessionId: string;
  readonly rights: ChildRights;
  readonly costUSD: number;
  readonly tokens: number;
  readonly process?: ProcessIdentity;
}

function ownFacts({ own }: NotedChild): OwnFacts {
  return own as OwnFacts;
}

function factsOfNote({ name }: FileAgent, child: NotedChild): SessionFacts {
  const { title, costUSD, tokens } = ownFacts(child);
  const { sessionId: id, rootSessionId: parentId, note, atMs } = child;
  return { id, parentId, title, agent: name, createdAtMs: atMs, updatedAtMs: atMs, costUSD, tokens, note };
}

const DONE: HostValue<void> = { status: "ok", value: undefined };

function refused(reason: string): HostValue<never> {
  return { status: "failed", code: "refused", reason };
}

/** The mark by which a prompt of ours is found again in the child's session. */
export function promptMark(key: string): string {
  return `[fork prompt ${key}]`;
}

/** Resolves once the agent has stored the prompt. */
async function untilStored(child: Running, isStored: () => Promise<boolean>): Promise<HostValue<void>> {
  let end: { readonly reason: string | undefined } | undefined;
  void child.run.ended.then((reason) => {
    end = { reason };
  });
  for (const untilMs = Date.now() + STORE_MS; Date.now() < untilMs; await sleep(STORE_LOOK_MS)) {
    const isOver = end !== undefined;
    if (await isStored().catch(() => false)) return DONE;
    if (isOver) break;
  }
  if (end === undefined) return { status: "failed", code: "no-answer", reason: "the prompt was not stored" };
  return refused(whyEnded(child, end.reason ?? "it ended at once"));
}

/** The least that a child can be given. */
const LEAST_USD = 0.0001;
const STORE_MS = 60_000;
const STORE_LOOK_MS = 50;
