import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import {
  type InventoryContent,
  type InventoryItems,
  type InventorySession,
  type PurgeFilter,
  planPurge,
} from "./plan.ts";

const DAY_MS = 86_400_000;
const NOW_MS = 1_000 * DAY_MS;

function session(
  name: string,
  change: Partial<InventorySession> & { readonly ageDays?: number } = {},
): InventorySession {
  const { ageDays = 0, ...rest } = change;
  const log = { path: `${name}.jsonl`, sizeBytes: 1, usedAtMs: NOW_MS - ageDays * DAY_MS };
  return { id: name, name, logs: [log], forks: [], handles: new Set<string>(), ...rest };
}

function content(handle: string, ageDays = 0, kind: InventoryContent["kind"] = "output"): InventoryContent {
  return { root: "r", path: `r/${handle}`, handle, kind, sizeBytes: 1, usedAtMs: NOW_MS - ageDays * DAY_MS };
}

const KEPT: InventoryItems = deepFreeze({
  sessions: [
    session("old", { ageDays: 40, handles: new Set(["mine", "shared", "line"]) }),
    session("young", { ageDays: 1, handles: new Set(["shared", "his"]) }),
    session("busy", { ageDays: 50, usedBy: "process 7 writes its log", handles: new Set(["held"]) }),
  ],
  contents: [
    content("mine"),
    content("shared", 90),
    content("his", 90),
    content("held", 90),
    content("nobody's", 90),
    content("new"),
    content("line", 90, "long"),
    content("other line", 90, "long"),
  ],
  leftovers: [
    { path: "stale", sizeBytes: 1, usedAtMs: 0 },
    { path: "fresh", sizeBytes: 1, usedAtMs: NOW_MS },
  ],
});

function plan(filter: PurgeFilter, force: "in-use-too" | "never" = "never") {
  const { sessions, contents, leftovers, inUse } = planPurge(KEPT, { filter, force, nowMs: NOW_MS });
  return {
    sessions: sessions.map(({ id }) => id),
    contents: contents.map(({ handle }) => handle),
    leftovers: leftovers.map(({ path }) => path),
    inUse: inUse.map(({ id }) => id),
  };
}

describe("planPurge", () => {
  it("takes of one session what no other session mentions", () => {
    expect(plan({ type: "session", name: "old" })).toEqual({
      sessions: ["old"],
      contents: ["mine", "line"],
      leftovers: [],
      inUse: [],
    });
  });

  it("takes nothing for a session that is not there", () => {
    expect(plan({ type: "session", name: "none" })).toEqual({
      sessions: [],
      contents: [],
      leftovers: [],
      inUse: [],
    });
  });

  it("takes by age what was not used for so long, and what only old sessions mention", () => {
    expect(plan({ type: "older", thanMs: 30 * DAY_MS })).toEqual({
      sessions: ["old"],
      contents: ["mine", "nobody's", "line"],
      leftovers: ["stale"],
      inUse: ["busy"],
    });
  });

  it("takes everything but what somebody works with", () => {
    expect(plan({ type: "all" })).toEqual({
      sessions: ["old", "young"],
      contents: ["mine", "shared", "his", "nobody's", "new", "line", "other line"],
      leftovers: ["stale", "fresh"],
      inUse: ["busy"],
    });
  });

  it("takes that too when it is forced", () => {
    const { sessions, contents, inUse } = plan({ type: "all" }, "in-use-too");
    expect({ sessions, inUse }).toEqual({ sessions: ["old", "young", "busy"], inUse: [] });
    expect(contents).toContain("held");
  });
});
