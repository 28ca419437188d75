import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { rootCostUSD } from "../../fork/life/admit.ts";
import { forkName } from "../../fork/life/prompt.ts";
import { currentRun, isLive } from "../../fork/life/record.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { deletedSession } from "../../hosts/opencode/hooks.ts";
import { sessionStatus } from "../../hosts/opencode/sessions.ts";
import { asNumber, asObject, asString, safeJson } from "../../text/json.ts";
import type { PluginContext } from "../context/context.ts";
import { type Feature, ToolRefusal } from "../host/features.ts";
import { createLruMap } from "../stores/lru-map.ts";
import { readChildError, writtenFiles } from "./child-report.ts";
import type { Forks } from "./forks.ts";
import type { NewEvent } from "./keeper.ts";
import type { ForkLinks } from "./links.ts";

/** Tells forks what the host says about their children; what is said is checked before it is believed. */
export function createChildEventsFeature({ context, forks }: ChildEventsSetup): Feature {
  const { keeper, bonds } = forks;
  const { calls } = context;
  const gone = createLruMap<string, true>(MAX_GONE);
  const tellChild = (sessionId: unknown, event: NewEvent): void => {
    const record = typeof sessionId === "string" ? keeper.ofChild(sessionId) : undefined;
    if (record !== undefined) void keeper.tell(record.id, event);
  };
  /** A child that stops right after its prompt may only be starting; it is looked at again when that is over. */
  const lookAgain = (sessionId: unknown): void => {
    if (typeof sessionId !== "string" || keeper.ofChild(sessionId) === undefined) return;
    const timer = setTimeout(async () => {
      const status = await sessionStatus(calls, sessionId);
      if (status === "idle") tellChild(sessionId, { type: "status", status });
    }, SETTLED_MS);
    timer.unref?.();
  };
  const tellForksOf = (sessionId: unknown, event: NewEvent): void => {
    for (const record of keeper.all()) {
      if (record.parentSessionId === sessionId) void keeper.tell(record.id, event);
    }
  };
  return {
    name: "fork events",
    hooks: {
      event: async ({ event }) => {
        bonds.observe(event);
        const { type, properties } = event;
        const { sessionID } = properties;
        switch (type) {
          case "session.idle":
            tellChild(sessionID, { type: "status", status: "idle" });
            return lookAgain(sessionID);
          case "session.status": {
            const status = asObject(properties.status).type;
            if (status === "busy" || status === "retry") tellChild(sessionID, { type: "status", status });
            return;
          }
          case "session.error": {
            const error = readChildError(properties.error);
            if (error !== undefined) tellChild(sessionID, { type: "child-failed", error });
            if (error?.kind === "aborted") tellForksOf(sessionID, { type: "parent-aborted" });
            return;
          }
          case "session.deleted": {
            const deleted = deletedSession(event);
            if (deleted === undefined) return;
            tellChild(deleted, { type: "child-deleted" });
            tellForksOf(deleted, { type: "parent-deleted" });
            return dropView(deleted);
          }
          case "session.updated":
            return countSpending(asObject(properties.info));
          case "permission.asked": {
            const askId = asString(properties.id);
            if (askId !== undefined) tellChild(sessionID, { type: "permission-asked", askId });
            return;
          }
          case "permission.replied": {
            const askId = asString(properties.requestID);
            if (askId !== undefined) tellChild(sessionID, { type: "permission-answered", askId });
            return;
          }
        }
      },
      "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
        if (keeper.ofChild(sessionID) === undefined) return;
        const hash = createHash("sha256")
          .update(`${tool}\n${safeJson(args)}`)
          .digest("hex")
          .slice(0, 16);
        tellChild(sessionID, { type: "tool-called", callId: callID, hash });
      },
      "chat.params": async ({ sessionID }) => {
        const record = keeper.ofChild(sessionID);
        if (record === undefined) return;
        const { costUSD, tokens, steps } = record.spent;
        tellChild(sessionID, { type: "spent", costUSD, tokens, steps: steps + 1 });
      },
    },
  };

  /** What a child inherited goes with its session, unless a sibling still shows it, in whatever program that runs. */
  async function dropView(childSessionId: string): Promise<void> {
    const blob = keeper.ofChild(childSessionId)?.inherited.snapshotId;
    if (blob === undefined) return;
    gone.set(childSessionId, true);
    const listed = await forks.store.list();
    // What stays goes with its age.
    if (listed.status === "failed") return;
    const records = listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
    const isShared = [...records, ...keeper.all()].some(
      (other) => other.inherited.snapshotId === blob && !gone.get(other.childSessionId ?? ""),
    );
    if (!isShared) forks.views.remove(blob);
  }

  function stopAtRootCost(rootSessionId: string): void {
    const ofRoot = keeper.all().filter((record) => record.rootSessionId === rootSessionId);
    if (rootCostUSD(ofRoot) < forks.limits.rootUSD) return;
    for (const record of ofRoot) {
      if (isLive(currentRun(record))) void keeper.tell(record.id, { type: "root-cost-reached" });
    }
  }

  function countSpending(info: Readonly<Record<string, unknown>>): void {
    const record = typeof info.id === "string" ? keeper.ofChild(info.id) : undefined;
    if (record === undefined) return;
    const { input, output, reasoning, cache } = asObject(info.tokens);
    const { read, write } = asObject(cache);
    const tokens = [input, output, reasoning, read, write].reduce<number>(
      (sum, value) => sum + (asNumber(value) ?? 0),
      0,
    );
    const costUSD = asNumber(info.cost) ?? 0;
    void keeper
      .tell(record.id, { type: "spent", costUSD, tokens, steps: record.spent.steps })
      .then(() => stopAtRootCost(record.rootSessionId));
  }
}

interface ChildEventsSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** A little longer than a child may be idle before its first step. */
const SETTLED_MS = 5_200;
const MAX_GONE = 1_024;

/** Refuses to children what they must not do; their tools stay declared, since another tool list would lose the provider's cached prefix. */
export function createChildRestrictionsFeature(bonds: ForkLinks): Feature {
  return {
    name: "fork restrictions",
    hooks: {
      "tool.execute.before": async ({ tool, sessionID }) => {
        const refusal = REFUSALS[tool];
        if (refusal === undefined || (await bonds.bondOf(sessionID)) === undefined) return;
        throw new ToolRefusal(refusal);
      },
    },
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  task: "You are a fork and cannot start subagents. Do it yourself.",
  question:
    "You are a fork and nobody answers questions. Decide yourself, or state the blocker in your report and stop.",
};

/** Tells whoever is about to write a file that a running fork is editing it: once, and the next call goes through. */
export function createFileWritersFeature({ context, forks }: FileWritersSetup): Feature {
  const writers = createLruMap<string, string>(MAX_FILES);
  const warned = createLruMap<string, true>(MAX_FILES);
  return {
    name: "file writers",
    hooks: {
      "tool.execute.before": async ({ tool, sessionID }, { args }) => {
        for (const file of writtenFiles(tool, args)) {
          const path = resolve(context.directory, file);
          const writer = writers.get(path);
          const other =
            writer === undefined || writer === sessionID ? undefined : forks.keeper.ofChild(writer);
          const warning = `${sessionID} ${writer} ${path}`;
          if (other !== undefined && isLive(currentRun(other)) && !warned.get(warning)) {
            warned.set(warning, true);
            throw new ToolRefusal(
              `${forkName(other)} is editing ${file} and still runs. Nothing was written. Read the file again, then either leave it to that fork or call again: the next call goes through.`,
            );
          }
          if (forks.keeper.ofChild(sessionID) !== undefined) writers.set(path, sessionID);
        }
      },
    },
  };
}

interface FileWritersSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** Enough for all that forks write while they run; only those that run are warned of. */
const MAX_FILES = 4_096;
