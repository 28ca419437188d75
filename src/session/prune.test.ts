import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { deepFreeze } from "../../test/rig/notation.ts";
import { step as stepWith } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER } from "../transcript/part.ts";
import type { Journal } from "./journal.ts";
import { limitWatermarks, resolvePrune } from "./prune.ts";
import type { Session } from "./session.ts";

describe("resolvePrune", () => {
  it.each([
    { given: undefined, how: "lines" },
    { given: { protectTurns: 0 }, how: "lines" },
    { given: { protectTokens: 4_000 }, how: "clear" },
    { given: { minimumTokens: 0 }, how: "clear" },
    { given: { how: "clear" as const }, how: "clear" },
    { given: { how: "lines" as const, protectTokens: 4_000 }, how: "lines" },
  ])("takes $given as $how", ({ given, how }) => {
    expect(resolvePrune(given).how).toBe(how);
  });

  it("brings the marks within a small window", () => {
    const lines = resolvePrune();
    if (lines.how !== "lines") throw new Error("expected lines");
    expect(limitWatermarks(lines, 10_000)).toMatchObject({ highTokens: 6_000, lowTokens: 3_000 });
    expect(limitWatermarks(lines, Number.POSITIVE_INFINITY)).toEqual(lines);
  });
});

const output = (id: string, lines = 120): string =>
  Array.from({ length: lines }, (_, line) => `${id} line ${line} of a long report`).join("\n");

const step = (id: string, text = output(id)): Message => stepWith(id, text);

const REQUEST: Message = { id: "u1", role: "user", parts: [{ type: "text", text: "make reports" }] };
const loop = (steps: number): Transcript => [
  REQUEST,
  ...Array.from({ length: steps }, (_, index) => step(`s${index}`)),
];

function observing(options: EngineOptions = {}, journal: Journal = createMemoryJournal()): Session {
  return createSession(
    { clock: createFakeClock(), journal },
    {
      model: { provider: "anthropic", id: "claude-sonnet-4-5" },
      limits: { contextTokens: 200_000, outputTokens: 8_000 },
      compactAt: "never",
      toolOutput: "off",
      ...options,
    },
  );
}

/** The length of the window at every step of a loop, and how often something before its end changed. */
async function replay(session: Session, steps: number): Promise<{ sizes: number[]; breaks: number }> {
  const sizes: number[] = [];
  let breaks = 0;
  let before = "";
  for (let count = 1; count <= steps; count++) {
    session.observe(deepFreeze(loop(count)));
    await session.prepare({ moment: "after-turn" });
    expect(findFaults(session.messages())).toEqual([]);
    const sent = JSON.stringify(session.messages()).slice(0, -1);
    sizes.push(sent.length);
    if (!sent.startsWith(before)) breaks++;
    before = sent;
  }
  return { sizes, breaks };
}

describe("the pruning of a session", () => {
  it("lets a long loop grow to a mark and brings it down, in few batches, each of which pays", async () => {
    const journal = createMemoryJournal();
    const session = observing({}, journal);
    const { sizes, breaks } = await replay(session, 150);
    const { batches } = session.status();
    expect(breaks).toBe(batches.length);
    expect(breaks).toBeGreaterThan(1);
    expect(breaks).toBeLessThan(12);
    expect(Math.max(...sizes)).toBeLessThan(JSON.stringify(loop(150)).length / 2);
    const { entries } = await journal.read();
    const types = entries.map(({ value }) => (value as { type: string }).type);
    expect(types.filter((type) => type !== "rest")).toEqual(batches.map(() => "delta"));
    // Where nothing was worth an edit is written, too, and seldom.
    expect(types.length).toBeLessThan(30);
  });

  it("leaves the request and the newest ten results whole", async () => {
    const session = observing();
    await replay(session, 100);
    const window = session.messages();
    expect(window[0]).toEqual(REQUEST);
    expect(window.slice(-10)).toEqual(loop(100).slice(-10));
    expect(JSON.stringify(window).includes("s0 line 7 of")).toBe(false);
  });

  it("does nothing below the upper mark, even where it would cost nothing", async () => {
    const session = observing({ prune: { highTokens: 60_000 } });
    session.observe(loop(30));
    await session.prepare({ moment: "after-turn", idleMs: 3_600_000 });
    expect(session.status().batches).toEqual([]);
    const other = observing({ prune: { highTokens: 20_000 } });
    other.observe(loop(30));
    await other.prepare({ moment: "after-turn", idleMs: 3_600_000 });
    expect(other.status().batches).toHaveLength(1);
  });

  it.each([
    { name: "a model without a known cache", options: { model: { provider: "p", id: "m" } } },
    {
      name: "a model without a known window",
      options: { model: { provider: "p", id: "m" }, limits: { contextTokens: 0, outputTokens: 0 } },
    },
  ])("changes the window seldom with $name, though every edit is free", async ({ options }) => {
    const session = observing(options);
    const { breaks, sizes } = await replay(session, 100);
    expect(breaks).toBeGreaterThan(0);
    expect(breaks).toBeLessThan(15);
    expect(Math.max(...sizes.slice(0, 15))).toBe(sizes[14]);
  });

  it("does not look again after a pause where the provider keeps nothing that could grow cold", async () => {
    const said = (id: string): Message => ({ id, role: "user", parts: [{ type: "text", text: "Go on." }] });
    const same = (id: string): Message => step(id, output("the same", 2_000));
    const history = ["a", "b", "c", "d"].flatMap((id) => [said(`${id}1`), same(id)]);
    const batches = async (pauseMs: number): Promise<number> => {
      const session = observing({ model: { provider: "p", id: "m" }, prune: { protectTokens: 1_000 } });
      for (let count = 1; count <= history.length; count++) {
        session.observe([REQUEST, ...history.slice(0, count)]);
        await session.prepare({ moment: "after-turn" });
      }
      session.observe([REQUEST, ...history, said("e")]);
      await session.prepare({ moment: "after-turn", idleMs: pauseMs });
      return session.status().batches.length;
    };
    expect(await batches(1)).toBe(await batches(0));
  });

  it("keeps what is pinned, can be taken back, and can be recalled", async () => {
    const session = observing({ pins: [{ text: "s3 line 7 of a long report" }] });
    session.observe(loop(60));
    const before = session.messages();
    await session.prepare({ moment: "after-turn" });
    const sent = JSON.stringify(session.messages());
    expect(sent).toContain("s3 line 7 of a long report");
    expect(sent).not.toContain("s4 line 7 of a long report");
    expect(await session.recall("s4/0")).toMatchObject({ status: "found", totalChars: output("s4").length });
    await session.undo();
    expect(session.messages()).toEqual(before);
  });

  it("is in force again after a restart, and then changes nothing", async () => {
    const journal = createMemoryJournal();
    const session = observing({}, journal);
    await replay(session, 100);
    const again = observing({}, journal);
    await again.restore(loop(100));
    expect(again.messages()).toEqual(session.messages());
  });

  it("clears old outputs as documented where that is asked for", async () => {
    const session = observing({ prune: { how: "clear", protectTurns: 0, protectTokens: 4_000 } });
    session.observe(loop(60));
    await session.prepare({ moment: "after-turn" });
    expect(JSON.stringify(session.messages())).toContain(CLEARED_PLACEHOLDER);
    expect(session.messages()).toHaveLength(61);
  });

  it("spares a compaction by leaving fewer of the newest results whole where lines of older ones are not enough", async () => {
    const messages = [
      REQUEST,
      ...Array.from({ length: 10 }, (_, index) => step(`b${index}`, output(`b${index}`, 1_500))),
    ];
    const session = observing({ compactAt: { fraction: 1 } });
    session.useModel({ provider: "p", id: "m" }, { contextTokens: 120_000, outputTokens: 8_000 });
    session.observe(messages);
    expect(session.nextAction()).toMatchObject({ type: "prune", reason: "over-limit" });
    await session.prepare();
    const sent = JSON.stringify(session.messages());
    expect(sent.length).toBeLessThan(0.6 * JSON.stringify(messages).length);
    expect(sent).not.toContain(CLEARED_PLACEHOLDER);
    expect(session.messages().at(-1)).toEqual(messages.at(-1));
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
  });

  it("makes room before somebody else compacts, and leaves the newest result, lines and handles", async () => {
    const messages = [
      REQUEST,
      ...Array.from({ length: 10 }, (_, index) => step(`b${index}`, output(`b${index}`, 1_500))),
    ];
    const session = observing();
    session.useModel({ provider: "p", id: "m" }, { contextTokens: 120_000, outputTokens: 8_000 });
    session.observe(messages);
    expect(session.nextAction({ moment: "after-turn" })).toMatchObject({
      type: "prune",
      reason: "over-limit",
    });
    await session.prepare({ moment: "after-turn" });
    const sent = JSON.stringify(session.messages());
    expect(sent.length).toBeLessThan(0.6 * JSON.stringify(messages).length);
    expect(sent).not.toContain(CLEARED_PLACEHOLDER);
    expect(session.messages().at(-1)).toEqual(messages.at(-1));
    const handles = [...sent.matchAll(/whole(?: result)?: ([^\]]+)\]/g)].map(([, handle = ""]) => handle);
    expect(handles.length).toBeGreaterThan(0);
    for (const handle of handles) expect(await session.recall(handle)).toMatchObject({ status: "found" });
    expect(session.nextAction({ moment: "after-turn" })).toMatchObject({ type: "none" });
  });

  it("keeps so many tokens of the newest outputs whole, and lines of the older ones", async () => {
    const session = observing({ prune: { how: "lines", protectTokens: 6_000 } });
    session.observe(loop(60));
    await session.prepare({ moment: "after-turn", idleMs: 3_600_000 });
    const whole = loop(60).filter((message) =>
      session.messages().some((sent) => JSON.stringify(sent) === JSON.stringify(message)),
    );
    expect(whole.length).toBeGreaterThan(3);
    expect(whole.length).toBeLessThan(9);
    expect(JSON.stringify(session.messages())).toMatch(/whole(?: result)?: s\d+/);
  });
});
