import { describe, expect, it } from "vitest";
import { answer, startSession, step, user, words } from "../../test/rig/session.ts";
import { hideMessage } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, messageText, type Transcript } from "../transcript/message.ts";
import { FOLDED_AT_ONCE, foldHistory, UNDO_BATCHES } from "./fold.ts";
import { type EditBatch, EMPTY_HISTORY, findMessage, observeMessages, withBatches } from "./history.ts";

const block: Message = {
  id: "n",
  role: "assistant",
  finish: "stop",
  usage: {
    inputTokens: 39_000,
    outputTokens: 9,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  },
  parts: [
    { type: "opaque", name: "compaction", providerBlock: "openai" },
    { type: "text", text: "Going on." },
  ],
};
const before: Transcript = [
  user("u1", "Find the leak in src/pool.ts."),
  step("s1", words(9_000)),
  step("s2", `src/pool.ts:41 never closes\n${words(9_000)}`),
];
/** Outputs stay whole, so that few of them fill the window. */
const start = () => startSession({ toolOutput: "off" });
const texts = (transcript: Transcript) => transcript.filter(isVisibleToModel).map(messageText).join("\n");

describe("a session whose provider compacts", () => {
  it("measures from the block on, sends everything, and keeps a backup summary that the model does not see", async () => {
    const { session } = start();
    session.setManagement({ acts: "compacts" });
    session.observe(before);
    await session.prepare({ moment: "after-turn" });
    session.observe([...before, block, user("u2", "And now?")]);
    expect(await session.prepare({ moment: "after-turn" })).toMatchObject({ type: "none", fits: true });
    expect(session.messages().map(({ id }) => id)).toEqual(["u1", "s1", "s2", "n", "u2"]);
    expect(session.status().tokens).toBeLessThan(200);
    expect(session.ledger().map((entry) => entry.step)).toEqual(["keep-backup-summary"]);
    const backup = session.transcript().find(({ metadata }) => metadata?.kind === "backup_summary");
    expect(backup?.metadata?.agentVisible).toBe(false);
    expect(messageText(backup as Message)).toContain("Find the leak in src/pool.ts.");
    expect(await session.recall({ search: "never closes" })).toMatchObject({ totalPieces: 1 });
  });

  it("makes no compaction while the provider does, however full the window is", async () => {
    const { session } = start();
    session.setManagement({ acts: "compacts" });
    session.observe([...before, step("s3", words(20_000))]);
    const action = await session.prepare({ moment: "after-turn" });
    expect(action).toEqual({ type: "none", reason: "provider-compacts", fits: false });
    expect(session.ledger()).toEqual([]);
    session.setManagement({});
    expect((await session.prepare({ moment: "after-turn" })).type).toBe("none");
    expect(session.ledger().at(-1)).toMatchObject({ outcome: "applied" });
  });

  it("compacts again when nobody else does, by way of the backup summary and never around the block", async () => {
    const { session } = start();
    session.observe([
      ...before,
      block,
      step("s3", words(20_000)),
      step("s4", words(20_000)),
      user("u2", "So?"),
    ]);
    await session.prepare({ moment: "after-turn" });
    await session.prepare({ demand: "manual" });
    const done = session.ledger().map((entry) => entry.step);
    expect(done.slice(0, 2)).toEqual(["keep-backup-summary", "use-backup-summary"]);
    expect(done.at(-1)).toBe("compact");
    const shown = session.messages();
    expect(shown.flatMap(({ parts }) => parts).some(({ providerBlock }) => providerBlock !== undefined)).toBe(
      false,
    );
    expect(texts(shown)).toContain("Find the leak in src/pool.ts.");
  });

  it("reads what was before a block that its owner puts in place of everything", async () => {
    const { session } = start();
    session.observe(before);
    await session.prepare();
    session.observe([block, user("u2", "And now?")]);
    await session.prepare();
    session.setManagement({ reads: ["anthropic"] });
    await session.prepare();
    expect(session.messages().map(({ id }) => id)).toEqual(["n~marker", "n~summary", "n", "u2"]);
    expect(texts(session.messages())).toContain("Find the leak in src/pool.ts.");
  });

  it("knows nothing of what was before the first block, also when a later one was taken back", async () => {
    const { session } = start();
    session.observe([block]);
    session.observe([block, user("u2", "And now?"), { ...block, id: "n2" }]);
    session.observe([block, user("u2", "And now?")]);
    session.setManagement({ reads: [] });
    await session.prepare();
    expect(texts(session.messages())).toContain("compacted by openai and cannot be read here");
  });

  it("says so where nothing is known of what the next provider cannot read", async () => {
    const { session } = start();
    session.setManagement({ reads: [] });
    session.observe([block, user("u2", "And now?")]);
    await session.prepare();
    expect(texts(session.messages())).toContain("compacted by openai and cannot be read here");
  });

  it("keeps one backup summary: that of a newer block is made from the older one's", async () => {
    const { session } = start();
    session.setManagement({ acts: "compacts" });
    const first = [...before, block, user("u2", "Close it in src/db.ts.")];
    session.observe(first);
    await session.prepare();
    session.observe([...first, answer("a1", "Closed."), { ...block, id: "n2" }, user("u3", "Thanks.")]);
    await session.prepare();
    const backups = session.transcript().filter(({ metadata }) => metadata?.kind === "backup_summary");
    expect(backups.map(({ id }) => id)).toEqual(["n2~backup"]);
    expect(messageText(backups[0] as Message)).toContain("Find the leak in src/pool.ts.");
    expect(messageText(backups[0] as Message)).toContain("Close it in src/db.ts.");
    expect(session.toJSON().batches).toHaveLength(1);
  });

  it("keeps its backup summary when old batches become one", () => {
    const many = Array.from({ length: UNDO_BATCHES + FOLDED_AT_ONCE + 1 }, (_, index) =>
      user(`u${index}`, "More."),
    );
    const why = { stage: "test", reason: "test" };
    const backup: Message = { ...answer("n~backup", "So far."), metadata: { agentVisible: false } };
    const kept = { type: "insert-message", message: backup, after: "n", ...why } as const;
    const batches: readonly EditBatch[] = [
      { id: "k", step: "keep-backup-summary", reason: "new-block", at: 0, edits: [kept] },
      ...many.map((message) => {
        const edits = [hideMessage(message, why)];
        return { id: message.id, step: "prune", reason: "pays", at: 0, edits };
      }),
    ];
    const { history } = observeMessages(EMPTY_HISTORY, [block, ...many]);
    const folded = foldHistory(withBatches(history, batches).history);
    expect(folded.batches.length).toBeLessThan(many.length);
    expect(findMessage(folded, "n~backup")).toMatchObject(backup);
  });

  it("learns nothing from the usage of the answer with the block", async () => {
    const { session } = start();
    session.observe(before);
    session.observe([...before, block]);
    expect((await session.prepare({ moment: "after-turn" })).type).toBe("none");
    expect(session.status().tokens).toBeLessThan(200);
  });

  it("refuses a management that it does not know", () => {
    const { session } = start();
    expect(() => session.setManagement({ acts: "sometimes" } as never)).toThrow("acts");
  });
});
