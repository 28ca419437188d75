import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  completedFork,
  endedRun,
  OWNER,
  runningFork,
  sampleFork,
  step,
} from "../../../test/rig/forks/fork-samples.ts";
import { forkMetadata, readForkMetadata, rebuildForkRecord } from "./rebuild-record.ts";
import { readForkRecord } from "./stored-record.ts";

const RECORDS = [
  sampleFork(),
  runningFork(),
  completedFork(),
  afterEvents(
    runningFork(),
    { type: "permission-asked", askId: "a" },
    { type: "cancel-asked", reason: "no" },
  ),
  afterEvents(
    runningFork(),
    { type: "root-cost-reached" },
    { type: "child-failed", error: { kind: "x", message: "y" } },
  ),
  afterEvents(completedFork(), { type: "resume-asked", task: "more", requestId: "r" }),
];

describe("readForkRecord", () => {
  it("gives back every record that was stored", () => {
    for (const record of RECORDS) expect(readForkRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  it("refuses a record from which a needed field is missing or of another kind", () => {
    const record = JSON.parse(JSON.stringify(completedFork())) as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      if (key === "childSessionId") continue;
      expect(readForkRecord({ ...record, [key]: undefined })).toBeUndefined();
      expect(
        readForkRecord({ ...record, [key]: 3.5e300 * (key === "number" ? Number.NaN : 1) }),
      ).toBeUndefined();
    }
    expect(readForkRecord({ ...record, runs: [] })).toBeUndefined();
    expect(
      readForkRecord({ ...record, runs: [...runningFork().runs, ...completedFork().runs] }),
    ).toBeUndefined();
  });

  it.each([
    ["a negative time", { lastSignAtMs: -1 }],
    ["a time without end", { lastSignAtMs: Number.POSITIVE_INFINITY }],
    ["a time as text", { lastSignAtMs: "5" }],
    ["prompts that are no list", { prompts: {} }],
    ["a prompt that is none", { prompts: [5] }],
  ])("refuses a run with %s", (_, change) => {
    const record = runningFork();
    expect(
      readForkRecord({ ...record, runs: record.runs.map((run) => ({ ...run, ...change })) }),
    ).toBeUndefined();
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readForkRecord(value)).toBeUndefined();
      }),
    );
  });
});

describe("a lost record", () => {
  const record = sampleFork({
    inherited: { mode: "full", reason: "", chars: 1, messages: 1, snapshotId: "sha" },
  });
  const session = { id: "child", title: "find the bug", createdAtMs: AT_MS - 5_000 };

  it("is named in the child's metadata", () => {
    const metadata = forkMetadata(record);
    expect(metadata).toEqual({
      id: "f1",
      number: 1,
      root: "root",
      parent: "parent",
      run: 1,
      mode: "full",
      blob: "sha",
    });
    expect(readForkMetadata(JSON.parse(JSON.stringify(metadata)))).toEqual(metadata);
    for (const value of [
      undefined,
      null,
      "x",
      {},
      { ...metadata, run: 0 },
      { ...metadata, id: "" },
      { ...metadata, root: 5 },
    ]) {
      expect(readForkMetadata(value)).toBeUndefined();
    }
  });

  it("has a name of at most 200 characters, and is text where its way is unknown", () => {
    const metadata = forkMetadata(record);
    expect(readForkMetadata({ ...metadata, id: "f".repeat(200) })?.id).toHaveLength(200);
    expect(readForkMetadata({ ...metadata, id: "f".repeat(201) })).toBeUndefined();
    expect(readForkMetadata({ ...metadata, mode: "other" })?.mode).toBe("text");
  });

  it("is rebuilt from what the child's session says", () => {
    const given = { metadata: forkMetadata(record), owner: OWNER, number: 4, atMs: AT_MS };
    const bare = rebuildForkRecord({ ...given, session }).record;
    expect(bare).toMatchObject({ agent: "", model: { providerId: "", modelId: "" }, spent: { costUSD: 0 } });
    expect(bare.inherited).toEqual({
      mode: "full",
      reason: "rebuilt from the child session",
      chars: 0,
      messages: 0,
      snapshotId: "sha",
    });
    const told = {
      ...session,
      agent: "plan",
      providerId: "p",
      modelId: "m",
      costUSD: 0.5,
      updatedAtMs: AT_MS - 3_000,
    };
    const whole = rebuildForkRecord({ ...given, session: told }).record;
    expect(whole).toMatchObject({
      agent: "plan",
      model: { providerId: "p", modelId: "m" },
      spent: { costUSD: 0.5 },
      runs: [{ downMs: 3_000 }],
    });
    expect(bare.runs).toMatchObject([{ downMs: 0, prompts: [{ text: "" }] }]);
    const { blob: _, ...unsaved } = given.metadata;
    expect(rebuildForkRecord({ ...given, metadata: unsaved, session }).record.inherited).not.toHaveProperty(
      "snapshotId",
    );
  });

  it("is rebuilt with the way it inherited and the call that asked for it", () => {
    const askedBy = { messageId: "msg_1", callId: "call_1" };
    const asked = { ...record, runs: record.runs.map((run) => ({ ...run, askedBy })) };
    const metadata = readForkMetadata(JSON.parse(JSON.stringify(forkMetadata(asked))));
    if (metadata === undefined) throw new Error("no metadata");
    const rebuilt = rebuildForkRecord({ metadata, session, owner: OWNER, number: 4, atMs: AT_MS });
    expect(rebuilt.record).toMatchObject({ inherited: { mode: "full" }, runs: [{ askedBy }] });
  });

  it("is rebuilt, looked at, and its result looked for before it is sent", () => {
    const rebuilt = rebuildForkRecord({
      metadata: forkMetadata(record),
      session,
      owner: OWNER,
      number: 4,
      atMs: AT_MS,
    });
    expect(readForkRecord(JSON.parse(JSON.stringify(rebuilt.record)))).toEqual(rebuilt.record);
    expect(rebuilt.actions).toEqual([{ type: "check-child", run: 1, key: "f1.1.1" }]);
    const finding = { type: "finished", text: "done", lastText: "done", changedFiles: [] } as const;
    const done = afterEvents(rebuilt.record, { type: "child-checked", run: 1, finding });
    const stopped = { type: "stopped", lastText: "", changedFiles: [] } as const;
    const resumed = step(
      rebuilt.record,
      { type: "child-checked", run: 1, finding: stopped },
      { onRestart: "resume" },
    );
    expect(resumed.record.runs.map(({ state }) => state)).toEqual(["interrupted"]);
    expect(endedRun(done)).toMatchObject({
      state: "completed",
      delivery: { state: "sent", isUnsure: true, isHeld: true },
    });
  });
});
