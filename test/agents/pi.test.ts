import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { normalizeOutput } from "../../src/text/normalize.ts";
import { asObject } from "../../src/text/unknown-value.ts";
import { type AgentWorld, createAgentWorld, pi } from "../rig/agents/agent-programs.ts";
import { openAgentTerminal } from "../rig/agents/agent-terminal.ts";
import { OUTPUT_KINDS } from "../rig/agents/output-kinds.ts";
import {
  ask,
  askWithoutUs,
  describePi,
  entriesOf,
  many,
  ofChild,
  outputsOf,
  resultsIn,
  textsOf,
} from "../rig/agents/pi-session.ts";
import type { ModelServer } from "../rig/model-server/model-server.ts";
import { call, callAll, createGate, say } from "../rig/model-server/step.ts";
import { hasTmux } from "../rig/opencode/opencode-tui.ts";
import { waitFor } from "../rig/wait-for.ts";

await describePi(({ server, world, folder, open }) => {
  it("shows both ends of a long output, also of one that failed, and recalls the rest", async () => {
    server.script([call("bash", { command: "seq 1 20000; echo THE-END; exit 4" }), say("Counted.")]);
    await ask(world, "Count far");
    const [shown = ""] = outputsOf(server.requests.at(-1));
    expect(shown).toMatch(/^1\n2\n3\n/);
    expect(shown).toContain("\n20000\nTHE-END\n\nCommand exited with code 4");
    expect(shown).not.toContain("[Showing lines");
    const handle = /sha256 ([0-9a-f]{64})/.exec(shown)?.[1] ?? "";
    // The same text is in the session, for whoever resumes it without us.
    const stored = entriesOf(world).find(({ message }) => asObject(message).role === "toolResult");
    expect(JSON.stringify(stored)).toContain(handle);
    server.script([call("recall", { handle, range: "77-79" }), say("Found.")]);
    await ask(world, "And line 77?", ["-c"]);
    expect(outputsOf(server.requests.at(-1)).at(-1)).toContain("77\n78\n79");
  });

  it("is never larger or less readable than without us, in 40 kinds of output", async () => {
    const without = createAgentWorld(server);
    try {
      const wide = { ...world, windowTokens: without.windowTokens };
      const [before, after] = [await outputsIn(server, without), await outputsIn(server, wide)];
      expect(after).toHaveLength(OUTPUT_KINDS.length);
      const changed = OUTPUT_KINDS.flatMap((kind, at) => (before[at] === after[at] ? [] : [{ kind, at }]));
      for (const { kind, at } of changed) {
        const { name, command } = kind;
        const [was = "", is = ""] = [before[at], after[at]];
        expect(is.length, name).toBeLessThanOrEqual(was.length + 400);
        const { stdout } = spawnSync("bash", ["-c", command], { encoding: "utf8", maxBuffer: 2 ** 24 });
        expect(is, name).toContain(normalizeOutput(stdout).trimEnd().slice(-40));
        expect(is.includes("code 4"), name).toBe(was.includes("code 4"));
      }
      const names = changed.map(({ kind }) => kind.name);
      expect(names).toContain("200,000 lines");
      expect(names).not.toContain("2,000 lines");
    } finally {
      without.remove();
    }
  });

  it("prunes in one batch that stays in the session, also where it is resumed without us", async () => {
    server.script([...many(14), say("All read.")]);
    await ask(world, "Read the files");
    const entries = entriesOf(world);
    const edits = entries.filter(({ type }) => type === "context_edit");
    expect(edits.length).toBeGreaterThan(3);
    expect(entries.filter(({ type }) => type === "custom")).toHaveLength(1);
    const targets = new Set(edits.map(({ targetId }) => targetId));
    const originals = entries.filter(({ id }) => targets.has(id));
    for (const { message } of originals) expect(JSON.stringify(message)).toContain("// more words");
    const sizes = server.requests.slice(-15).map((request) => textsOf(request).length);
    expect(sizes.at(-1)).toBeLessThan(Math.max(...sizes) * 0.7);
    const pruned = outputsOf(server.requests.at(-1));
    expect(pruned[0]).toMatch(/\[whole result: [0-9a-f]+\/1\]/);
    server.script([say("Yes.")]);
    await askWithoutUs(world, "Sure?", ["-c", "-ne"]);
    expect(outputsOf(server.requests.at(-1))).toEqual(pruned);
    // With us again nothing is appended twice, and the whole comes back.
    const handle = /whole result: (\S+)\]/.exec(pruned[0] ?? "")?.[1];
    server.script([call("recall", { handle }), say("Found.")]);
    await ask(world, "What was in the first?", ["-c"]);
    expect(outputsOf(server.requests.at(-1)).at(-1)).toContain("file0.ts:190: const value0");
    const added = entriesOf(world).filter(({ type }) => type === "context_edit");
    expect(added.slice(edits.length).filter(({ targetId }) => targets.has(targetId))).toEqual([]);
    // What was thought without us was thought with other tools: it is refused once, left out, and that is noted.
    expect(server.thinking.takeRefusals()).toHaveLength(1);
    expect(entriesOf(world).filter(({ type }) => type === "custom")).toHaveLength(2);
    const session = await open(["-c"]);
    await session.shown("setStatus", /^carryover: pruned 1 time$/);
    await session.command("/context", /\npruned +\d+ outputs: [\d,]+ tokens, read again by recall/);
  });

  it("sums up with pi's model, keeps pins and what came last, and pi goes on from it without us", async () => {
    server.script([...many(9), say("All read."), say("## Goal\nThe files are read."), say("Going on.")]);
    await ask(world, "Read the files; PORT-48213 #pin");
    const session = await open(["-c"]);
    const compacted = await session.ask({ type: "compact" });
    expect(compacted).toMatchObject({ success: true });
    const asked = server.requests.at(-1);
    expect(JSON.stringify(asked?.body)).toContain("You keep the memory of");
    const entry = entriesOf(world).findLast(({ type }) => type === "compaction");
    expect(entry).toMatchObject({ fromHook: true, usage: { totalTokens: expect.any(Number) } });
    const summary = String(entry?.summary);
    expect(summary).toContain("The files are read.");
    expect(summary).toContain("PORT-48213");
    expect(summary).toMatch(/whole by [0-9a-f]{64}\]$/);
    await session.command("/context", /\ncompacted +\d+ messages: [\d,]+ tokens/);
    await session.stop();
    await askWithoutUs(world, "Go on", ["-c", "-ne"]);
    const sent = textsOf(server.requests.at(-1));
    expect(sent).toContain("PORT-48213");
    expect(sent).not.toContain("file3.ts:190: const value3");
    server.script([call("recall", { search: "file3.ts value3" }), say("Found.")]);
    await ask(world, "What was in the fourth?", ["-c"]);
    expect(outputsOf(server.requests.at(-1)).at(-1)).toContain("file3.ts:");
  });

  it("sums up without any request where the options say so", async () => {
    // Its twin is the test before: by default the model is asked.
    const file = join(world.home, ".config", "carryover", "options.json");
    spawnSync("mkdir", ["-p", dirname(file)]);
    writeFileSync(file, '{ "compaction": "local" }');
    try {
      server.script([...many(9), say("All read.")]);
      await ask(world, "Read them once more");
      const before = server.requests.length;
      const session = await open(["-c"]);
      expect(await session.ask({ type: "compact" })).toMatchObject({ success: true });
      expect(server.requests).toHaveLength(before);
      expect(entriesOf(world).at(-1)).toMatchObject({ type: "compaction", fromHook: true });
    } finally {
      spawnSync("rm", [file]);
    }
  });

  it("starts a child that knows the conversation and cannot fork, and reads its result once", async () => {
    server.script([
      call("bash", { command: "echo PORT-48213" }),
      call("fork", { prompt: "Say which port it was." }),
      ofChild({ calls: [{ tool: "fork", input: { prompt: "Ask another one." } }] }),
      ofChild({ text: "It was port 48213." }),
      say("So it was 48213."),
    ]);
    await ask(world, "Look for the port");
    const [child, again, parent] = server.requests.slice(-3);
    expect(outputsOf(child).join()).toContain("PORT-48213");
    expect(outputsOf(again).at(-1)).toMatch(/not found/);
    expect(outputsOf(parent).at(-1)).toMatch(/<fork_result delivery="[^"]+" fork="1" state="completed"/);
    expect(outputsOf(parent).at(-1)).toContain("It was port 48213.");
    server.script([say("Yes.")]);
    // The newest session is the parent's: the child's is no session of the user.
    await ask(world, "Sure?", ["-c"]);
    expect(textsOf(server.requests.at(-1))).toContain("Look for the port");
    expect(resultsIn(server.requests.at(-1))).toHaveLength(1);
  });

  it("is there for one run with -e, in the children of forks too", async () => {
    const without = createAgentWorld(server);
    try {
      server.script([
        call("fork", { prompt: "Count far." }),
        ofChild({ calls: [{ tool: "bash", input: { command: "seq 1 20000" } }] }),
        ofChild({ text: "Counted." }),
        say("So it is."),
      ]);
      await ask(without, "Fork it", ["-e", folder]);
      const [child, parent] = server.requests.slice(-2);
      expect(outputsOf(child).at(-1)).toMatch(/^1\n2\n3\n[\s\S]*handle and sha256/);
      expect(outputsOf(parent).at(-1)).toContain("Counted.");
      server.script([say("Yes.")]);
      await askWithoutUs(without, "Sure?", ["-c"]);
      expect(JSON.stringify(server.requests.at(-1)?.body.tools)).not.toContain('"recall"');
    } finally {
      without.remove();
    }
  });

  it("wakes a session that rests with the result, once, and shows forks and the window", async () => {
    const gate = createGate();
    server.script([
      call("fork", { prompt: "Look for the lighthouse." }),
      ofChild({ text: "It is the LIGHTHOUSE.", after: gate.opened }),
      say("Started."),
      say("So it is the lighthouse."),
    ]);
    const session = await open([]);
    await session.prompt("Fork it");
    await session.shown("setWidget", /#?1.*lighthouse/i);
    await session.shown("setStatus", /1 fork/);
    await session.command("/forks", /#1 Look for the lighthouse.*(?:starting|running)/);
    gate.open();
    await waitFor(() => resultsIn(server.requests.at(-1)).length === 1, "the result at the model");
    await session.settled(2);
    await session.command("/forks", /#1 Look for the lighthouse.*completed/);
    await session.command("/context", /window +[\d,]+ tokens/);
    server.script([say("Yes.")]);
    await session.prompt("Sure?");
    expect(resultsIn(server.requests.at(-1))).toHaveLength(1);
  });

  it.skipIf(!hasTmux())(
    "shows in the terminal what was done, forks at work, the window, and both in words",
    async () => {
      const gate = createGate();
      server.script([
        call("bash", { command: "seq 1 20000" }),
        call("fork", { prompt: "Look for the lighthouse." }),
        ofChild({ text: "It is the LIGHTHOUSE.", after: gate.opened }),
        say("Started."),
        say("So it is."),
      ]);
      const screen = await openAgentTerminal(world, {
        ...{ agents: [pi], program: ["pi"], isReady: /claude-opus-5-5/, width: 120, height: 50 },
      });
      try {
        await screen.send("Fork it");
        await screen.until(
          (text) => /carryover: 1 output trimmed \([\d.]+ KB\) · 1 fork/.test(text),
          "the status line with the fork",
        );
        await screen.until((text) => /⑂ .*lighthouse/i.test(text), "the widget");
        await screen.send("/forks");
        await screen.until(
          (text) => /#1 Look for the lighthouse\.? +(?:running|starting)/.test(text),
          "/forks",
        );
        gate.open();
        await screen.until((text) => text.includes("So it is."), "the answer to the result");
        await screen.until((text) => /KB\)\s*$/m.test(text) && !text.includes("⑂"), "the end of the widget");
        await screen.send("/context");
        await screen.until(
          (text) => /trimmed +1 output: .* shown, the rest by recall/.test(text),
          "/context",
        );
      } finally {
        screen.stop();
      }
    },
  );

  it("goes on as without us where nothing can be kept, with a line in the log", async () => {
    const place = join(world.home, ".local", "share", "carryover");
    spawnSync("rm", ["-rf", join(place, "outputs")]);
    writeFileSync(join(place, "outputs"), "no folder");
    server.script([call("bash", { command: "seq 1 20001" }), say("Counted.")]);
    await ask(world, "Count again");
    expect(outputsOf(server.requests.at(-1))[0]).toContain("[Showing lines 18002-20001 of 20001.");
    expect(readFileSync(join(place, "plugin.log"), "utf8").match(/cannot be kept/g)).toHaveLength(1);
  });
});

/** What the model reads of the forty outputs, without what differs from run to run. */
async function outputsIn(server: ModelServer, world: AgentWorld): Promise<readonly string[]> {
  server.discardSteps();
  for (let start = 0; start < OUTPUT_KINDS.length; start += AT_ONCE) {
    const kinds = OUTPUT_KINDS.slice(start, start + AT_ONCE);
    server.script([callAll(kinds.map(({ command }) => ({ tool: "bash", input: { command } })))]);
    server.script([say("Done.")]);
    await ask(world, "Print them");
    printed.push(...outputsOf(server.requests.at(-1)));
  }
  return printed.splice(0).map((output) => output.replaceAll(/pi-bash-[0-9a-f]+/g, "pi-bash-FILE"));
}

const AT_ONCE = 14;
const printed: string[] = [];
