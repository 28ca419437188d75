import { expect, it } from "vitest";
import type { Message, Transcript } from "../../src/transcript/message.ts";
import { renderMessage } from "../../src/transcript/render.ts";
import type { FakeAgent } from "./fake-agent.ts";

/** An agent that runs the plugin with the options, and whose tool `bash` prints `LINES`; its tool `wait` ends after a while. */
export type StartAgent = (options: Readonly<Record<string, unknown>>) => FakeAgent;

/** Long enough to be bounded. */
export const LINES: string = Array.from({ length: 6_000 }, (_, line) => `${line} a line`).join("\n");

/** With what the plugin itself wrote, which is not rendered for forks. */
const rendered = (message: Message): string =>
  renderMessage({
    ...message,
    parts: message.parts.map((part) => (part.type === "text" ? { type: "text", text: part.text } : part)),
  });
const textOf = (transcript: Transcript): string => transcript.map(rendered).join("\n");
/** Longer than a result that may be delivered waits. */
const QUIET_MS = 1_500;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const RUN = { call: "bash", args: { command: "cat log" } };

async function childAtWork(agent: FakeAgent, session: string): Promise<void> {
  const requests = () => agent.childrenOf(session).flatMap((child) => agent.requests(child));
  await expect.poll(() => requests().length, { timeout: 20_000 }).toBeGreaterThan(0);
}

/** What the plugin does in every agent whose adapter keeps the contract of `AgentHost`. */
export function pluginWorksIn(start: StartAgent): void {
  it("bounds a long output and gives the rest back by its handle", async () => {
    const agent = start({});
    const session = agent.newSession();
    await agent.turn(session, "Look.", [RUN, { say: "Seen." }]);
    const seen = textOf(agent.requests(session)[1] ?? []);
    expect(seen.length).toBeLessThan(LINES.length / 2);
    expect(seen).toContain("5999 a line");
    const [handle] = /[0-9a-f]{64}/.exec(seen) ?? [];
    await agent.turn(session, "More.", [
      { call: "recall", args: { handle, range: "3001-3001" } },
      { call: "recall", args: { search: "4321 A LINE" } },
      { say: "Read." },
    ]);
    expect(textOf(agent.stored(session))).toContain("3000 a line");
    const stored = textOf(agent.stored(session));
    expect(stored).toMatch(
      /1 piece found, best first; recall a handle for the whole text\.(\\n|\n){2}[0-9a-f]{64} line 4322 of 6000/,
    );
    expect(stored).toContain("4322: 4321 a line");
  });

  it("forks the conversation into a child, and delivers its result once", async () => {
    const agent = start({});
    const session = agent.newSession();
    agent.childReplies.push({ say: "The cat is grey." });
    await agent.turn(session, "Remember 4711.", [{ say: "I will." }]);
    await agent.turn(session, "Fork it.", [
      { call: "fork", args: { prompt: "Which colour has the cat?" } },
      { say: "Forked." },
    ]);
    await expect.poll(() => textOf(agent.stored(session)), { timeout: 20_000 }).toContain("The cat is grey.");
    const [child = ""] = agent.childrenOf(session);
    const [first = []] = agent.requests(child);
    expect(textOf(first)).toMatch(/Remember 4711\.[\s\S]*I will\.[\s\S]*Which colour has the cat\?/);
    expect(textOf(agent.stored(child))).not.toContain("4711");
    await agent.turn(session, "And?", [{ say: "Grey." }]);
    await agent.turn(session, "And?", [{ call: "fork_result", args: {} }, { say: "Done." }]);
    expect(textOf(agent.stored(session)).match(/<fork_result delivery/g)).toHaveLength(1);
    expect(textOf(agent.stored(session))).toContain("completed");
  });

  it("gives a report of any length back whole, in ranges, and says how long it is", async () => {
    const agent = start({});
    const session = agent.newSession();
    const report = Array.from({ length: 9_500 }, (_, line) => `${line} found`).join("\n");
    agent.childReplies.push({ say: report });
    await agent.turn(session, "Fork it.", [{ call: "fork", args: { prompt: "Look." } }, { say: "Forked." }]);
    await expect.poll(() => textOf(agent.stored(session)), { timeout: 20_000 }).toContain("9499 found");
    const delivered = textOf(agent.stored(session));
    const [, next] =
      new RegExp(`of ${report.length} characters; .*range "(c\\d+-)" reads on`).exec(delivered) ?? [];
    expect(next).toBeDefined();
    let read = "";
    for (let range: string | undefined = "c0-"; range !== undefined; ) {
      await agent.turn(session, "More.", [
        { call: "fork_result", args: { id: "1", range } },
        { say: "Read." },
      ]);
      const shown = textOf(agent.stored(session).slice(-2));
      read += /characters="[^>]*>\n([\s\S]*)\n<\/fork_result>/.exec(shown)?.[1] ?? "";
      range = /Read on: range "(c\d+-)"/.exec(shown)?.[1];
    }
    expect(read).toBe(report);
    await agent.turn(session, "Lines.", [
      { call: "fork_result", args: { id: "1", range: "100-101" } },
      { call: "fork_result", args: { id: "1", range: "99999-" } },
      { say: "Read." },
    ]);
    const shown = textOf(agent.stored(session).slice(-3));
    expect(shown).toContain(">\n99 found\n100 found\n");
    expect(shown).toContain(`the report of fork 1 has ${report.length} characters.`);
  });

  it("brings a result to a parent that works, and leaves it out of later forks", async () => {
    const agent = start({ fork: { way: "graduated" } });
    const session = agent.newSession();
    agent.childReplies.push({ say: "The cat is grey." }, { say: "Nothing." });
    await agent.turn(session, "Fork it.", [
      { call: "fork", args: { prompt: "Look.", wait_s: 0 } },
      { call: "wait", args: {} },
      { call: "bash", args: {} },
      { call: "fork", args: { prompt: "Look again." } },
      { say: "Forked." },
    ]);
    const outputs = agent.stored(session).filter((message) => rendered(message).includes("The cat is grey."));
    expect(outputs).toHaveLength(1);
    await expect.poll(() => agent.childrenOf(session)).toHaveLength(2);
    const second = agent.childrenOf(session)[1] ?? "";
    await expect.poll(() => agent.requests(second).length, { timeout: 20_000 }).toBeGreaterThan(0);
    expect(textOf(agent.requests(second)[0] ?? [])).not.toContain("The cat is grey.");
  });

  it("leaves a conversation alone that the user has taken back in part, and offers the result of a fork undone with it", async () => {
    const agent = start({});
    const session = agent.newSession();
    agent.childReplies.push({ call: "wait", args: {} }, { say: "The cat is grey." });
    await agent.turn(session, "Hello.", [{ say: "Hello." }]);
    await agent.turn(session, "Fork it.", [{ call: "fork", args: { prompt: "Look." } }, { say: "Forked." }]);
    await childAtWork(agent, session);
    await agent.undo(session);
    const stored = agent.stored(session);
    await expect.poll(() => agent.toasts.join(), { timeout: 20_000 }).toContain("not inserted");
    await pause(QUIET_MS);
    expect(agent.stored(session)).toEqual(stored);
    await agent.turn(session, "Something else.", [{ call: "bash", args: {} }, { say: "Done." }]);
    await pause(QUIET_MS);
    expect(JSON.stringify(agent.stored(session))).not.toContain("The cat is grey.");
    await agent.turn(session, "What did it find?", [
      { call: "fork_result", args: { id: "1" } },
      { say: "Grey." },
    ]);
    expect(textOf(agent.stored(session)).match(/The cat is grey\./g)).toHaveLength(1);
  });

  it("delivers once after the user has restored what was taken back, and again when the user went on without it", async () => {
    const agent = start({});
    const session = agent.newSession();
    const results = (): number => JSON.stringify(agent.stored(session)).split("The cat is grey.").length - 1;
    agent.childReplies.push({ call: "wait", args: {} }, { say: "The cat is grey." });
    await agent.turn(session, "Fork it.", [{ call: "fork", args: { prompt: "Look." } }, { say: "Forked." }]);
    await childAtWork(agent, session);
    await agent.turn(session, "More.", [{ say: "More." }]);
    await agent.undo(session);
    await agent.undo(session);
    await expect.poll(() => agent.toasts.join(), { timeout: 20_000 }).toContain("not inserted");
    await agent.redo(session);
    await expect.poll(results, { timeout: 20_000 }).toBe(1);
    await pause(QUIET_MS);
    await agent.undo(session);
    await pause(QUIET_MS);
    expect(results()).toBe(1);
    await agent.turn(session, "Differently.", [{ say: "I see." }]);
    await pause(QUIET_MS);
    expect(results()).toBe(1);
    expect(JSON.stringify(agent.requests(session).at(-1))).toContain("The cat is grey.");
  });

  it("stops a child at once when its session or its parent's is deleted", async () => {
    const agent = start({});
    const session = agent.newSession();
    agent.childReplies.push({ call: "wait", args: {} }, { say: "The cat is grey." });
    await agent.turn(session, "Fork it.", [{ call: "fork", args: { prompt: "Look." } }, { say: "Forked." }]);
    await childAtWork(agent, session);
    const [child = ""] = agent.childrenOf(session);
    await agent.remove(session);
    expect(agent.stopped).toContain(child);
  });

  it("refuses to a child what only its parent may do", async () => {
    const agent = start({});
    const session = agent.newSession();
    agent.childReplies.push(
      { call: "delegate", args: {} },
      { call: "fork", args: { prompt: "Deeper." } },
      { say: "Alone." },
    );
    await agent.turn(session, "Fork it.", [{ call: "fork", args: { prompt: "Look." } }, { say: "Forked." }]);
    await expect.poll(() => textOf(agent.stored(session)), { timeout: 20_000 }).toContain("Alone.");
    const [child = ""] = agent.childrenOf(session);
    expect(textOf(agent.stored(child))).toContain("You are a fork and cannot start subagents.");
    expect(agent.childrenOf(session)).toHaveLength(1);
  });

  it("clears old outputs in what is sent, the same in each request, and stores them whole", async () => {
    const agent = start({
      prune: "auto",
      toolOutput: false,
      models: { "p/m": { keepRecent: 1_000, pruneAt: 1_000 } },
    });
    const session = agent.newSession();
    for (let turn = 0; turn < 6; turn++) await agent.turn(session, "Look.", [RUN, { say: "Seen." }]);
    await agent.turn(session, "Go on.", [{ say: "Yes." }]);
    const sent = textOf(agent.requests(session).at(-1) ?? []);
    expect(sent).toContain("[superseded by");
    expect(textOf(agent.stored(session)).split("5999 a line")).toHaveLength(7);
    await agent.turn(session, "And on.", [{ say: "Yes." }]);
    expect(textOf(agent.requests(session).at(-1) ?? []).startsWith(sent)).toBe(true);
    await agent.undo(session);
    await agent.turn(session, "Elsewhere.", [{ say: "Yes." }]);
    const elsewhere = textOf(agent.requests(session).at(-1) ?? []);
    expect(elsewhere.startsWith(sent)).toBe(true);
    expect(elsewhere).not.toContain("And on.");
    for (let undone = 0; undone < 4; undone++) await agent.undo(session);
    await agent.turn(session, "Back.", [{ say: "Yes." }]);
    expect(textOf(agent.requests(session).at(-1) ?? [])).toContain("Back.");
    expect(textOf(agent.stored(session)).split("5999 a line")).toHaveLength(5);
  });

  it("tells the agent's compaction what is pinned and which forks are open", async () => {
    const agent = start({ pin: ["never push to main"] });
    const session = agent.newSession();
    await agent.turn(session, "The port is 4711. #pin", [
      { call: "fork", args: { prompt: "Look.", title: "Look around" } },
      { say: "Forked." },
    ]);
    const texts = (await agent.compact(session)).join("\n");
    expect(texts).toContain("never push to main");
    expect(texts).toContain("The port is 4711.");
    expect(texts).toContain("Look around");
  });
}
