import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeSummarizer } from "../../test/rig/fakes.ts";
import { answer, startSession, step, user, words } from "../../test/rig/session.ts";
import type { SessionEvent } from "./events.ts";
import type { SessionPorts } from "./options.ts";
import type { Session } from "./session.ts";

/** Summaries that come when the test says so. */
function slowSummarizer() {
  const waiting: ((text: string | Error) => void)[] = [];
  const summarizer = createFakeSummarizer(
    () =>
      new Promise<string>((resolve, reject) =>
        waiting.push((text) => (text instanceof Error ? reject(text) : resolve(text))),
      ),
  );
  return {
    summarizer,
    async write(text: string | Error = `## Goal\nFold number ${summarizer.calls.length}.`): Promise<void> {
      while (waiting.length === 0) await tick();
      waiting.shift()?.(text);
      await tick();
    },
  };
}

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

/** The limit is 30,000 tokens; one is begun at 27,000. Pruning is off, so that only compactions happen. */
function start(options: EngineOptions = {}, ports: Partial<SessionPorts> = {}) {
  const slow = slowSummarizer();
  const started = startSession({ prune: "off", ...options }, { summarizer: slow.summarizer, ...ports });
  started.session.append(user("u", "Read everything."));
  return { ...started, ...slow };
}

let steps = 0;

/** Appends steps of about 1,000 tokens, each after a preparation, until the window has so many. */
async function growTo(session: Session, tokens: number): Promise<void> {
  while (session.status().tokens < tokens) {
    session.append(step(`s${++steps}`, words(980)));
    await session.prepare({ moment: "after-turn" });
  }
}

/** Appends steps until a compaction is due, without a preparation. */
function growUntilDue(session: Session): void {
  while (session.status().tokens < 30_000) session.append(step(`s${++steps}`, words(980)));
}

const ofCompactions = (events: readonly SessionEvent[]) =>
  events.filter(({ type }) => type.startsWith("compaction"));

const compactions = (session: Session) => session.ledger().filter(({ step: name }) => name === "compact");

describe("a compaction in the background", () => {
  it("is begun before it is due, and in force when it is due: what came since is kept", async () => {
    const { session, events, summarizer, write } = start();
    await growTo(session, 26_000);
    expect(summarizer.calls).toHaveLength(0);
    await growTo(session, 28_500);
    expect(summarizer.calls).toHaveLength(1);
    const since = session.messages();
    await write();
    expect(session.messages()).toEqual(since);
    await growTo(session, 29_000);
    session.append(step("last", words(1_500)));
    const before = session.messages();
    const action = await session.prepare({ moment: "after-turn" });
    expect(action).toMatchObject({ type: "none", fits: true });
    expect(summarizer.calls).toHaveLength(1);
    expect(compactions(session)).toMatchObject([{ outcome: "applied", reason: "threshold" }]);
    expect(JSON.stringify(session.messages()[1])).toContain("Fold number 1.");
    // As much stays as without: about a quarter of what is usable.
    const tail = session.messages().slice(2);
    expect(tail).toEqual(before.filter(({ id }) => tail.some((message) => message.id === id)));
    expect(session.status().tokens).toBeGreaterThan(7_000);
    expect(session.status().tokens).toBeLessThan(12_000);
    const told = events.filter(({ type }) => type.startsWith("compaction"));
    expect(told).toMatchObject([
      { type: "compaction_start", background: true },
      { type: "compaction_end", background: true, tokensAfter: compactions(session)[0]?.tokensAfter },
    ]);
  });

  it("leaves about the window that a compaction at the limit leaves", async () => {
    const sizes = await Promise.all(
      (["on", "off"] as const).map(async (backgroundCompaction) => {
        const summarizer = createFakeSummarizer("## Goal\nAll of it.");
        const { session } = start({ backgroundCompaction }, { summarizer });
        for (let index = 0; compactions(session).length === 0; index++) {
          session.append(step(`e${index}`, words(300)));
          await session.prepare({ moment: "after-turn" });
          await tick();
        }
        return session.status().tokens;
      }),
    );
    expect(Math.abs((sizes[0] ?? 0) - (sizes[1] ?? 0))).toBeLessThan(600);
  });

  it("is waited for when it is due, and not before", async () => {
    const { session, summarizer, write } = start();
    await growTo(session, 28_500);
    growUntilDue(session);
    let isOver = false;
    const prepared = session.prepare({ moment: "after-turn" }).then((action) => {
      isOver = true;
      return action;
    });
    await tick();
    expect(isOver).toBe(false);
    expect(compactions(session)).toEqual([]);
    await write();
    expect(await prepared).toMatchObject({ type: "none", fits: true });
    expect(summarizer.calls).toHaveLength(1);
    expect(compactions(session)).toMatchObject([{ outcome: "applied" }]);
  });

  it("does the same whenever its summary comes, and asks for it once", async () => {
    const windows: unknown[] = [];
    for (const when of ["at once", "when it is due"]) {
      steps = 0;
      const { session, summarizer, write } = start();
      await growTo(session, 28_500);
      if (when === "at once") await write("## Goal\nThe one.");
      growUntilDue(session);
      const prepared = session.prepare({ moment: "after-turn" });
      if (when !== "at once") await write("## Goal\nThe one.");
      await prepared;
      expect(summarizer.calls).toHaveLength(1);
      windows.push(session.messages());
    }
    expect(windows[0]).toEqual(windows[1]);
  });

  it("is asked for again, in the same words, by a session that goes on from a state, when it is due", async () => {
    const first = start();
    await growTo(first.session, 28_500);
    const second = start();
    const state: unknown = JSON.parse(JSON.stringify(first.session.toJSON()));
    await second.session.restore(first.session.transcript(), state);
    await second.session.prepare({ moment: "after-turn" });
    expect(second.summarizer.calls).toHaveLength(0);
    growUntilDue(second.session);
    const prepared = second.session.prepare({ moment: "after-turn" });
    await second.write("## Goal\nWritten later.");
    expect(await prepared).toMatchObject({ type: "none", fits: true });
    const [asked, before] = [second, first].map(({ summarizer }) => summarizer.calls);
    expect(asked?.map(({ request }) => request)).toEqual(before?.map(({ request }) => request));
    expect(JSON.stringify(second.session.messages())).toContain("Written later.");
  });

  it("is waited for after a refusal, and nothing else is asked", async () => {
    const { session, summarizer, write } = start();
    await growTo(session, 29_000);
    session.onProviderError(new Error("prompt is too long: 41000 tokens > 40000 maximum"));
    const prepared = session.prepare();
    await write();
    expect((await prepared).type).toBe("retry");
    expect(summarizer.calls).toHaveLength(1);
    expect(JSON.stringify(session.messages())).toContain("Fold number 1.");
  });

  it("is dropped by an undo", async () => {
    const { session, events, summarizer, write } = start({ toolOutput: { maxChars: 5_000 } });
    session.append(step("long", words(3_000)));
    await session.prepare();
    await growTo(session, 28_500);
    const undone = session.undo();
    expect(await undone).toMatchObject({ status: "undone" });
    expect(summarizer.calls[0]?.options.signal.aborted).toBe(true);
    await write();
    expect(compactions(session)).toEqual([]);
    expect(events.filter(({ type }) => type === "compaction_end")).toMatchObject([{ error: "overtaken" }]);
  });

  it("is dropped when what it speaks of is gone, also when its summary was there", async () => {
    for (const isWritten of [true, false]) {
      const { session, events, summarizer, write } = start();
      await growTo(session, 28_500);
      if (isWritten) await write();
      const [first, second, ...others] = session.transcript();
      const changed = step(second?.id ?? "", "nothing was found");
      if (first === undefined) throw new Error("no messages");
      session.observe([first, changed, ...others, step("more", words(9_000)), step("more2", words(4_000))]);
      const prepared = session.prepare();
      while (summarizer.calls.length < 2) await tick();
      if (!isWritten) await write("## Goal\nToo late.");
      await write("## Goal\nOnly the tests.");
      await prepared;
      expect(JSON.stringify(session.messages())).not.toContain("Fold number");
      const ends = events.flatMap((event) => (event.type === "compaction_end" ? [event.error] : []));
      expect(ends).toEqual(["overtaken", undefined]);
    }
  }, 10_000);

  it("is one at a time, and a person who compacts by hand gets a compaction of the window as it is", async () => {
    const { session, summarizer, write } = start();
    await growTo(session, 28_500);
    expect(summarizer.calls).toHaveLength(1);
    const prepared = session.prepare({ demand: "manual" });
    while (summarizer.calls.length < 2) await tick();
    await write("## Goal\nDropped.");
    await write("## Goal\nBy hand.");
    await prepared;
    expect(JSON.stringify(session.messages())).toContain("By hand.");
  });

  it("is waited for until a signal aborts, on which nothing is left", async () => {
    const { session, write } = start();
    await growTo(session, 28_500);
    const { signal } = new AbortController();
    const stopped = new AbortController();
    const waiting = [session.settled(stopped.signal), session.settled(signal)];
    stopped.abort();
    await waiting[0];
    expect(compactions(session)).toHaveLength(0);
    await session.settled(stopped.signal);
    await write();
    await waiting[1];
    expect(compactions(session)).toHaveLength(1);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("is waited for and put in force by settled(), also where it is not due", async () => {
    const { session, write } = start();
    await growTo(session, 28_500);
    const settled = session.settled();
    await write();
    await settled;
    expect(compactions(session)).toMatchObject([{ outcome: "applied" }]);
    expect(session.toJSON().batches).toHaveLength(1);
  });

  it("that fails is told when it is due, and not tried again at once", async () => {
    const { session, events, summarizer, write } = start();
    await growTo(session, 28_500);
    await write(new Error("503"));
    await write(new Error("503"));
    expect(ofCompactions(events).map(({ type }) => type)).toEqual(["compaction_start"]);
    expect(compactions(session)).toEqual([]);
    growUntilDue(session);
    expect(await session.prepare({ moment: "after-turn" })).toMatchObject({
      type: "none",
      reason: "summary-failed",
    });
    expect(ofCompactions(events).map(({ type }) => type)).toEqual([
      "compaction_start",
      "compaction.failed",
      "compaction_end",
    ]);
    expect(compactions(session)).toMatchObject([{ outcome: "failed", note: "summary-failed" }]);
    await growTo(session, 32_000);
    expect(summarizer.calls).toHaveLength(2);
  });

  it.each<{ name: string; options: EngineOptions; ports?: Partial<SessionPorts> }>([
    { name: "where it is off", options: { backgroundCompaction: "off" } },
    { name: "as documented", options: { profile: "documented", compaction: { toolSummaryStrategy: "off" } } },
    { name: "where nothing is compacted by itself", options: { compactAt: "never" } },
    {
      name: "where pruning will do",
      options: { prune: { how: "clear", protectTokens: 2_000, minimumTokens: 0, protectTurns: 0 } },
    },
  ])("is not begun: $name", async ({ options }) => {
    const { session, events } = start(options);
    for (let index = 0; index < 29; index++) {
      session.append(step(`t${index}`, words(980)));
      if (session.status().tokens < (session.status().limitTokens ?? 30_000) - 500) await session.prepare();
    }
    expect(events.filter(({ type }) => type === "compaction_start")).toEqual([]);
  });

  it("does not keep an answer of the model from being the end", async () => {
    const { session } = start();
    await growTo(session, 28_500);
    session.append(answer("done", "All is read."));
    expect(await session.prepare({ moment: "after-turn" })).toMatchObject({ type: "none", fits: true });
  });
});
