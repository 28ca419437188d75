import { createHash } from "node:crypto";
import { fields, numberField, stringField } from "../../../formats/fields.ts";
import { rootCostUSD } from "../../../tasks/admit-fork.ts";
import { currentRun, isLive } from "../../../tasks/fork-record.ts";
import { readForkRecord } from "../../../tasks/read-fork-record.ts";
import { safeJson } from "../../../text/safe-json.ts";
import type { Feature } from "../combine-hooks.ts";
import { deletedSession } from "../deleted-session.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createRecentMap } from "../recent-map.ts";
import { readChildError } from "./child-finding.ts";
import { sessionStatus } from "./child-session.ts";
import type { Forks } from "./create-forks.ts";
import type { NewEvent } from "./fork-keeper.ts";

/** Tells forks what the host says about their children; what is said is checked before it is believed. */
export function createChildEventsFeature({ context, forks }: ChildEventsSetup): Feature {
  const { keeper, bonds } = forks;
  const { calls } = context;
  const gone = createRecentMap<string, true>(MAX_GONE);
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
            const status = fields(properties.status).type;
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
            return countSpending(fields(properties.info));
          case "permission.asked": {
            const askId = stringField(properties.id);
            if (askId !== undefined) tellChild(sessionID, { type: "permission-asked", askId });
            return;
          }
          case "permission.replied": {
            const askId = stringField(properties.requestID);
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
    const { input, output, reasoning, cache } = fields(info.tokens);
    const { read, write } = fields(cache);
    const tokens = [input, output, reasoning, read, write].reduce<number>(
      (sum, value) => sum + (numberField(value) ?? 0),
      0,
    );
    const costUSD = numberField(info.cost) ?? 0;
    void keeper
      .tell(record.id, { type: "spent", costUSD, tokens, steps: record.spent.steps })
      .then(() => stopAtRootCost(record.rootSessionId));
  }
}

export interface ChildEventsSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** A little longer than a child may be idle before its first step. */
const SETTLED_MS = 5_200;
const MAX_GONE = 1_024;
