import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type BoundFile, boundFiles } from "../../../test/rig/bound-thinking/bound-files.ts";
import { createFileJournal } from "../../stores/files/journal.ts";
import { asArray, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import { rescue } from "./rescue.ts";
import type { Rescued, RescueFlags } from "./rescued.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-rescue-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const ENV = { HOME: home, PATH: "" };
const REFUSAL =
  '400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.9.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \\"drop_block\\"."}}';

async function rescued(
  text: string,
  flags: RescueFlags = {},
  name = `${randomUUID()}.jsonl`,
): Promise<Rescued> {
  const path = join(home, name);
  writeFileSync(path, text);
  const found = await rescue({ path, name: path }, { cwd: home, ...flags }, ENV);
  expect(readFileSync(path, "utf8"), "the original is untouched").toBe(text);
  return found;
}

const staleIn = ({ diagnosis }: Rescued) =>
  diagnosis.findings.filter(({ problem }) => problem === "stale-thoughts");

function fileOf(format: string, model = "claude-opus-5-5"): BoundFile {
  const file = boundFiles({ model, steps: 12 }).find((each) => each.format === format);
  if (file === undefined) throw new Error(format);
  return file;
}

/** What a session of pi has behind its last entry, in order. */
function withEntries(text: string, entries: readonly UnknownObject[]): string {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as UnknownObject);
  for (const entry of entries) {
    const before = lines.at(-1);
    lines.push({
      id: `added-${lines.length}`,
      parentId: before?.id ?? null,
      timestamp: "2026-11-17T11:00:00Z",
      ...entry,
    });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const edited = (...targets: readonly string[]): readonly UnknownObject[] => [
  { type: "custom", customType: "carryover", data: { edited: targets } },
  ...targets.map((targetId) => ({
    type: "context_edit",
    targetId,
    replacement: { content: [{ type: "text", text: "[cleared]" }] },
  })),
];

const answer = (more: object, model = "claude-opus-5-5"): UnknownObject => ({
  type: "message",
  message: {
    role: "assistant",
    content: [{ type: "text", text: "Done." }],
    ...{ api: "anthropic-messages", provider: "anthropic", model, stopReason: "stop", timestamp: 2 },
    ...more,
  },
});
const refused = answer({ content: [], stopReason: "error", errorMessage: REFUSAL });

describe("a session of pi that an earlier version edited", () => {
  it("is found before anything was refused, and goes on without thoughts", async () => {
    const file = fileOf("pi");
    const text = withEntries(file.text, edited("result-3", "result-4"));
    expect(await file.goOn(file.text)).toMatchObject({ status: 200 });
    expect(await file.goOn(text)).toMatchObject({ status: 400 });
    const found = await rescued(text);
    expect(found.status).toBe("rescued");
    // Thoughts 0 to 3 stand before the first edit.
    expect(staleIn(found)).toMatchObject([
      {
        severity: "broken",
        line: 11,
        text: expect.stringContaining("8 thoughts of claude-opus-5-5 stand behind"),
      },
    ]);
    const content = found.delivered?.handed.content ?? "";
    expect(await file.thoughts(content)).toBe(0);
    expect(await file.goOn(content)).toMatchObject({ status: 200 });
    expect(found.delivered?.handed.notice).toContain("thoughts stood behind what was edited later");
    expect(found.delivered?.handed.notice).toContain("reasoning left out");
  });

  it("is found by its refusal", async () => {
    const found = await rescued(withEntries(fileOf("pi").text, [...edited("result-3"), refused, refused]));
    expect(found.diagnosis.findings).toMatchObject([
      { problem: "stale-thoughts", severity: "broken" },
      {
        problem: "refused",
        text: expect.stringContaining("a refusal of a thought of the model, which is left out"),
      },
    ]);
  });

  it.each([
    REFUSAL,
    "messages.9.content.0: Invalid `signature` in `thinking` block",
    "Gateway: upstream said: The block is bound to a different conversation.",
  ])("is found by its refusal alone, in whatever words: %s", async (errorMessage) => {
    const file = fileOf("pi");
    const found = await rescued(
      withEntries(file.text, [answer({ content: [], stopReason: "error", errorMessage })]),
    );
    expect(found).toMatchObject({ status: "rescued", diagnosis: { findings: [{ problem: "refused" }] } });
    expect(await file.thoughts(found.delivered?.handed.content ?? "")).toBe(0);
  });

  it("is told of and left alone where its provider took it", async () => {
    const found = await rescued(withEntries(fileOf("pi").text, [...edited("result-3"), answer({})]));
    expect(found.status).toBe("healthy");
    expect(staleIn(found)).toMatchObject([{ severity: "note" }]);
  });

  it.each([
    { name: "its model binds nothing", model: "claude-opus-4-6", entries: edited("result-3") },
    { name: "nothing was edited", entries: [] },
    { name: "no thought stands behind the edit", entries: edited("result-11") },
    {
      name: "the edit was taken back",
      entries: [
        ...edited("result-3"),
        { type: "custom", customType: "carryover", data: { edited: ["result-3"] } },
        { type: "context_edit", targetId: "result-3", replacement: "as it was" },
      ],
    },
    {
      name: "the thoughts behind it were left out too",
      entries: [
        ...edited("result-9"),
        { type: "custom", customType: "carryover", data: { edited: ["answer-10", "answer-11"] } },
        { type: "context_edit", targetId: "answer-10", replacement: "without thoughts" },
        { type: "context_edit", targetId: "answer-11", replacement: "without thoughts" },
      ],
    },
  ])("is no other: $name", async ({ model, entries }) => {
    const { text } = fileOf("pi", model);
    const contents = new Map(
      text
        .trim()
        .split("\n")
        .map((line) => asObject(JSON.parse(line)))
        .map(({ id, message }) => [id, asArray(asObject(message).content)]),
    );
    const filled = entries.map((entry: UnknownObject) => {
      if (typeof entry.replacement !== "string") return entry;
      const content = contents.get(entry.targetId) ?? [];
      const kept = content.filter((block) => asObject(block).type !== "thinking");
      return { ...entry, replacement: { content: kept } };
    });
    expect(staleIn(await rescued(withEntries(text, filled), { dryRun: true }))).toEqual([]);
  });
});

describe("a session of OpenCode that an earlier version of the plugin edited", () => {
  const store = join(home, "store");
  const text = fileOf("opencode").text;
  const batch = {
    type: "engine",
    record: {
      ...{ v: 1, type: "batch", id: "b1", step: "prune", reason: "idle", at: 1 },
      ...{ tokensBefore: 9_000, tokensAfter: 5_000 },
      edits: [
        {
          edit: {
            ...{ type: "hide-part", messageId: "msg_0003", partIndex: 1, what: "output" },
            ...{ stage: "prune", reason: "pruned" },
          },
          ...{ savedTokens: 4_000, handle: "msg_0003/1" },
        },
      ],
    },
  };
  async function log(atMs: number, ...entries: readonly object[]): Promise<void> {
    rmSync(store, { recursive: true, force: true });
    mkdirSync(join(store, "journal"), { recursive: true });
    const journal = createFileJournal({ root: join(store, "journal"), session: "ses_bound" });
    for (const entry of entries)
      expect(await journal.append({ atMs, sessionId: "ses_bound", ...entry })).toMatchObject({
        status: "appended",
      });
  }
  const diagnosed = async () => staleIn(await rescued(text, { store, dryRun: true }, "opencode.json"));

  it("is found by the plugin's log, and says that the plugin heals it", async () => {
    await log(1_000, { ...batch, record: { ...batch.record, at: 1_000 } });
    expect(await diagnosed()).toMatchObject([
      {
        severity: "broken",
        text: expect.stringContaining("its plugin of this version leaves such thoughts out"),
      },
    ]);
  });

  it("is none where the plugin noted what thoughts are bound to, or nothing is in force", async () => {
    await log(1_000, batch, { type: "thoughts", bindings: { bound: [] }, leftOut: 3 });
    expect(await diagnosed()).toEqual([]);
    await log(1_000, batch, { type: "engine", record: { v: 1, type: "undo", batchId: "b1", at: 2 } });
    expect(await diagnosed()).toEqual([]);
    await log(1_000);
    expect(await diagnosed()).toEqual([]);
  });

  it("is only told of where the model has answered since", async () => {
    await log(2, { ...batch, record: { ...batch.record, at: 2 } });
    expect(await diagnosed()).toMatchObject([{ severity: "note" }]);
  });
});
