import assert from "node:assert/strict";
import { forbiddenText } from "../../src/fork/life/child-rules.ts";
import type { ScriptedReply, TestRunner } from "../../src/testing.ts";
import { renderMessage } from "../../src/transcript/content.ts";
import type { Message, Transcript } from "../../src/transcript/message.ts";

/** A coding agent with the plugin in it, whose model follows a script; what it sends and stores can be looked at. */
export interface StagedAgent {
  newSession(): string | Promise<string>;
  /** A message of the user and the whole turn that it begins. */
  turn(sessionId: string, text: string, replies: readonly ScriptedReply[]): Promise<void>;
  /** What children answer, in order. */
  readonly childReplies: { push(...replies: readonly ScriptedReply[]): unknown };
  /** What was sent to the model for a session, request by request. */
  requests(sessionId: string): readonly Transcript[];
  /** Everything that is stored of a session. */
  stored(sessionId: string): Transcript | Promise<Transcript>;
  /** Takes back the newest message of the user that stands, and all that followed. */
  undo(sessionId: string): Promise<void>;
  /** Restores what was taken back. */
  redo(sessionId: string): Promise<void>;
  /** Deletes a session and those below it. */
  remove(sessionId: string): Promise<void>;
  /** The sessions that the plugin stopped. */
  readonly stopped: readonly string[];
  childrenOf(sessionId: string): readonly string[] | Promise<readonly string[]>;
  /** What the plugin adds to the agent's request for a summary. */
  compact(sessionId: string): Promise<readonly string[]>;
  /** What people were told in passing. */
  readonly toasts: readonly string[];
  /** Ends the agent, and deletes what it kept. */
  stop(): Promise<void>;
}

/** An agent to be tested: its name, and how it is put on the stage. */
interface AgentUnderTest {
  readonly name: string;
  start(stage: AgentStage): StagedAgent | Promise<StagedAgent>;
}

/** How an agent is to be started for a test. */
interface AgentStage {
  /** The options of the plugin. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Its tool `bash` prints this, its tool `wait` ends after a second and a half, and its tool `delegate` starts a sub-agent. */
  readonly output: string;
}

/** Tests that the plugin does in an agent what it does in every agent whose adapter keeps the contract of the port AgentHost. */
export function agentHostContract({ describe, it }: TestRunner, agentUnderTest: AgentUnderTest): void {
  const play = (name: string, { options = {}, run }: Play): void =>
    it(name, async () => {
      const agent = await agentUnderTest.start({ options, output: LINES });
      try {
        await run(agent);
      } finally {
        await agent.stop();
      }
    });

  describe(`the plugin in ${agentUnderTest.name}`, () => {
    play("trims a long output and gives the rest back by its handle", {
      async run(agent) {
        const session = await agent.newSession();
        await agent.turn(session, "Look.", [RUN, { say: "Seen." }]);
        const seen = textOf(agent.requests(session)[1] ?? []);
        assert.ok(seen.length < LINES.length / 2, "the output was sent whole");
        has(seen, "5999 a line");
        const [handle] = /[0-9a-f]{64}/.exec(seen) ?? [];
        await agent.turn(session, "More.", [
          { call: "recall", args: { handle, range: "3001-3001" } },
          { call: "recall", args: { search: "4321 A LINE" } },
          { say: "Read." },
        ]);
        const stored = textOf(await agent.stored(session));
        has(stored, "3000 a line");
        assert.match(
          stored,
          /1 piece found, best first; recall a handle for the whole text\.(\\n|\n){2}[0-9a-f]{64} line 4322 of 6000/,
        );
        has(stored, "4322: 4321 a line");
      },
    });

    play("forks the conversation into a child, and delivers its result once", {
      async run(agent) {
        const session = await agent.newSession();
        agent.childReplies.push({ say: "The cat is grey." });
        await agent.turn(session, "Remember 4711.", [{ say: "I will." }]);
        await agent.turn(session, "Fork it.", forking("Which colour has the cat?"));
        await untilStored(agent, session, "The cat is grey.");
        const [child = ""] = await agent.childrenOf(session);
        const [first = []] = agent.requests(child);
        assert.match(textOf(first), /Remember 4711\.[\s\S]*I will\.[\s\S]*Which colour has the cat\?/);
        lacks(textOf(await agent.stored(child)), "4711");
        await agent.turn(session, "And?", [{ say: "Grey." }]);
        await agent.turn(session, "And?", [{ call: "fork_result", args: {} }, { say: "Done." }]);
        const stored = textOf(await agent.stored(session));
        assert.equal(stored.split("<fork_result delivery").length - 1, 1);
        has(stored, "completed");
      },
    });

    play("gives a report of any length back whole, in ranges, and says how long it is", {
      async run(agent) {
        const session = await agent.newSession();
        const report = Array.from({ length: 9_500 }, (_, line) => `${line} found`).join("\n");
        agent.childReplies.push({ say: report });
        await agent.turn(session, "Fork it.", forking());
        await untilStored(agent, session, "9499 found");
        const delivered = textOf(await agent.stored(session));
        assert.match(delivered, new RegExp(`of ${report.length} characters; .*range "(c\\d+-)" reads on`));
        let read = "";
        for (let range: string | undefined = "c0-"; range !== undefined; ) {
          await agent.turn(session, "More.", [
            { call: "fork_result", args: { id: "1", range } },
            { say: "Read." },
          ]);
          const shown = textOf((await agent.stored(session)).slice(-2));
          read += /characters="[^>]*>\n([\s\S]*)\n<\/fork_result>/.exec(shown)?.[1] ?? "";
          range = /Read on: range "(c\d+-)"/.exec(shown)?.[1];
        }
        assert.ok(read === report, "what was read in ranges is not the report");
        await agent.turn(session, "Lines.", [
          { call: "fork_result", args: { id: "1", range: "100-101" } },
          { call: "fork_result", args: { id: "1", range: "99999-" } },
          { say: "Read." },
        ]);
        const shown = textOf((await agent.stored(session)).slice(-3));
        has(shown, ">\n99 found\n100 found\n");
        has(shown, `the report of fork 1 has ${report.length} characters.`);
      },
    });

    play("brings a result to a parent that works, and leaves it out of later forks", {
      options: { fork: { inherit: "trimmed" } },
      async run(agent) {
        const session = await agent.newSession();
        agent.childReplies.push({ say: "The cat is grey." }, { say: "Nothing." });
        await agent.turn(session, "Fork it.", [
          { call: "fork", args: { prompt: "Look.", wait_s: 0 } },
          { call: "wait", args: {} },
          { call: "bash", args: {} },
          ...forking("Look again."),
        ]);
        const stored = await agent.stored(session);
        assert.equal(stored.filter((message) => rendered(message).includes("The cat is grey.")).length, 1);
        await until(async () => (await agent.childrenOf(session)).length === 2, "a second child");
        const second = (await agent.childrenOf(session))[1] ?? "";
        await until(() => agent.requests(second).length > 0, "the second child's request");
        lacks(textOf(agent.requests(second)[0] ?? []), "The cat is grey.");
      },
    });

    play(
      "leaves a conversation alone that the user has taken back in part, and offers the result of a fork undone with it",
      {
        async run(agent) {
          const session = await agent.newSession();
          agent.childReplies.push(...SLOW);
          await agent.turn(session, "Hello.", [{ say: "Hello." }]);
          await agent.turn(session, "Fork it.", forking());
          await childAtWork(agent, session);
          await agent.undo(session);
          const stored = await agent.stored(session);
          await until(() => agent.toasts.join().includes("not inserted"), "a word to the user");
          await pause(QUIET_MS);
          assert.deepEqual(await agent.stored(session), stored);
          await agent.turn(session, "Something else.", [{ call: "bash", args: {} }, { say: "Done." }]);
          await pause(QUIET_MS);
          assert.equal(await timesStored(agent, session, "The cat is grey."), 0);
          const asked = { call: "fork_result", args: { id: "1" } };
          await agent.turn(session, "What did it find?", [asked, { say: "Grey." }]);
          assert.equal(await timesStored(agent, session, "The cat is grey."), 1);
        },
      },
    );

    play(
      "delivers once after the user has restored what was taken back, and again when the user went on without it",
      {
        async run(agent) {
          const session = await agent.newSession();
          const results = () => timesStored(agent, session, "The cat is grey.");
          agent.childReplies.push(...SLOW);
          await agent.turn(session, "Fork it.", forking());
          await childAtWork(agent, session);
          await agent.turn(session, "More.", [{ say: "More." }]);
          await agent.undo(session);
          await agent.undo(session);
          await until(() => agent.toasts.join().includes("not inserted"), "a word to the user");
          await agent.redo(session);
          await until(async () => (await results()) === 1, "the result");
          await pause(QUIET_MS);
          await agent.undo(session);
          await pause(QUIET_MS);
          assert.equal(await results(), 1);
          await agent.turn(session, "Differently.", [{ say: "I see." }]);
          await pause(QUIET_MS);
          assert.equal(await results(), 1);
          has(JSON.stringify(agent.requests(session).at(-1)), "The cat is grey.");
        },
      },
    );

    play("stops a child at once when its session or its parent's is deleted", {
      async run(agent) {
        const session = await agent.newSession();
        agent.childReplies.push(...SLOW);
        await agent.turn(session, "Fork it.", forking());
        await childAtWork(agent, session);
        const [child = ""] = await agent.childrenOf(session);
        await agent.remove(session);
        assert.ok(agent.stopped.includes(child), "the child goes on");
      },
    });

    play("refuses to a child what only its parent may do", {
      async run(agent) {
        const session = await agent.newSession();
        agent.childReplies.push(
          { call: "delegate", args: {} },
          { call: "fork", args: { prompt: "Deeper." } },
          { say: "Alone." },
        );
        await agent.turn(session, "Fork it.", forking());
        await untilStored(agent, session, "Alone.");
        const [child = ""] = await agent.childrenOf(session);
        has(textOf(await agent.stored(child)), forbiddenText("subagent"));
        assert.equal((await agent.childrenOf(session)).length, 1);
      },
    });

    play("clears old outputs in what is sent, the same in each request, and stores them whole", {
      options: {
        prune: "auto",
        toolOutput: false,
        models: { "p/m": { keepTokens: 1_000, pruneAt: 1_000 } },
      },
      async run(agent) {
        const session = await agent.newSession();
        const lastSent = () => textOf(agent.requests(session).at(-1) ?? []);
        const yes = [{ say: "Yes." }];
        for (let turn = 0; turn < 6; turn++) await agent.turn(session, "Look.", [RUN, { say: "Seen." }]);
        await agent.turn(session, "Go on.", yes);
        const sent = lastSent();
        has(sent, "[superseded by");
        assert.equal(await timesStored(agent, session, "5999 a line"), 6);
        await agent.turn(session, "And on.", yes);
        assert.ok(lastSent().startsWith(sent), "the next request does not begin with this one");
        await agent.undo(session);
        await agent.turn(session, "Elsewhere.", yes);
        assert.ok(lastSent().startsWith(sent), "the request after an undo does not begin with what stands");
        lacks(lastSent(), "And on.");
        for (let undone = 0; undone < 4; undone++) await agent.undo(session);
        await agent.turn(session, "Back.", yes);
        has(lastSent(), "Back.");
        assert.equal(await timesStored(agent, session, "5999 a line"), 4);
      },
    });

    play("tells the agent's compaction what is pinned and which forks are open", {
      options: { pin: ["never push to main"] },
      async run(agent) {
        const session = await agent.newSession();
        await agent.turn(session, "The port is 4711. #pin", [
          { call: "fork", args: { prompt: "Look.", title: "Look around" } },
          { say: "Forked." },
        ]);
        const texts = (await agent.compact(session)).join("\n");
        for (const text of ["never push to main", "The port is 4711.", "Look around"]) has(texts, text);
      },
    });
  });
}

interface Play {
  readonly options?: Readonly<Record<string, unknown>>;
  run(agent: StagedAgent): Promise<void>;
}

/** Long enough to be trimmed. */
const LINES: string = Array.from({ length: 6_000 }, (_, line) => `${line} a line`).join("\n");
const RUN: ScriptedReply = { call: "bash", args: { command: "cat log" } };
/** A child that is at work for a while. */
const SLOW: readonly ScriptedReply[] = [{ call: "wait", args: {} }, { say: "The cat is grey." }];
/** Longer than a result that may be delivered waits. */
const QUIET_MS = 1_500;
const LONG_ENOUGH_MS = 20_000;

function forking(prompt = "Look."): readonly ScriptedReply[] {
  return [{ call: "fork", args: { prompt } }, { say: "Forked." }];
}

/** With what the plugin itself wrote, which is not rendered for forks. */
function rendered(message: Message): string {
  const parts = message.parts.map((part) =>
    part.type === "text" ? { type: part.type, text: part.text } : part,
  );
  return renderMessage({ ...message, parts });
}

function textOf(transcript: Transcript): string {
  return transcript.map(rendered).join("\n");
}

async function timesStored(agent: StagedAgent, session: string, text: string): Promise<number> {
  return textOf(await agent.stored(session)).split(text).length - 1;
}

function untilStored(agent: StagedAgent, session: string, text: string): Promise<void> {
  return until(async () => (await timesStored(agent, session, text)) > 0, `"${text}" in the conversation`);
}

function childAtWork(agent: StagedAgent, session: string): Promise<void> {
  return until(async () => {
    const children = await agent.childrenOf(session);
    return children.some((child) => agent.requests(child).length > 0);
  }, "a request of the child");
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = Date.now() + LONG_ENOUGH_MS;
  while (!(await isSo())) {
    assert.ok(Date.now() < endMs, `${what} did not come`);
    await pause(50);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function has(text: string, wanted: string): void {
  assert.ok(text.includes(wanted), `"${wanted}" is not in: ${text.slice(0, SHOWN_CHARS)}`);
}

function lacks(text: string, unwanted: string): void {
  assert.ok(!text.includes(unwanted), `"${unwanted}" is in: ${text.slice(0, SHOWN_CHARS)}`);
}

const SHOWN_CHARS = 2_000;
