import { afterEach, describe, expect, it, vi } from "vitest";
import { parseChecked } from "../../test/rig/check-json.ts";
import { createTestContext } from "../../test/rig/plugin-context.ts";
import { batchesInForce } from "../plugin/stores/edits-in-force.ts";
import { undoCommand } from "./undo.ts";

afterEach(() => vi.restoreAllMocks());

const batch = (id: string, at: number) => ({
  v: 1,
  type: "batch",
  id,
  step: "prune",
  reason: "pays",
  at,
  tokensBefore: 900,
  tokensAfter: 400,
  edits: [],
});

async function run(...args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  await undoCommand()
    .exitOverride()
    .parseAsync([...args], { from: "user" });
  return lines.join("");
}

describe("carryover undo, where no plugin runs", () => {
  it("takes back the newest edit of all sessions, or that of the one that is named", async () => {
    const { context, folder, entries } = createTestContext();
    for (const [session, id, at] of [
      ["ses_1", "b1", 1],
      ["ses_2", "b2", 3],
      ["ses_1", "b3", 2],
    ] as const) {
      const entry = { atMs: at, sessionId: session, type: "engine", record: batch(id, at) };
      await context.journal(session).append(entry);
    }
    expect(parseChecked("undo", await run("--store", folder, "--json"))).toEqual({
      schemaVersion: 1,
      sessionId: "ses_2",
      batchId: "b2",
      step: "prune",
      edits: 0,
      tokens: 500,
      where: "journal",
    });
    expect(await run("--store", folder, "--session", "ses_1")).toContain("Taken back in ses_1: prune");
    expect(batchesInForce(await entries("ses_1")).map(({ batch: { id } }) => id)).toEqual(["b1"]);
    await run("--store", folder);
    await expect(run("--store", folder)).rejects.toMatchObject({ code: "CARRYOVER_CLI" });
  });

  it("says so when there is nothing to take back", async () => {
    const { folder } = createTestContext();
    await expect(run("--store", folder, "--session", "ses_9")).rejects.toThrow("ses_9");
  });
});
