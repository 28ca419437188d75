import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { asArray, asObject, type UnknownObject } from "../../src/text/unknown-value.ts";
import { type AgentWorld, createAgentWorld, pi } from "../rig/agents/agent-programs.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { unpackCli } from "../rig/agents/packed-cli.ts";
import { ask, entriesOf, openRpc } from "../rig/agents/pi-session.ts";
import {
  type ClaudeServer,
  type ClaudeStep,
  startClaudeServer,
} from "../rig/bound-thinking/claude-server.ts";
import { type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";

const LONG = { timeout: 600_000 };

/** Who the model is asked through: a provider of the user's own, one that also takes other tools in the middle, or pi's own. */
type Provider = "gateway" | "inline" | "anthropic";

await describeAgent(pi, () => {
  let claude: ClaudeServer;
  let unused: ModelServer;
  let cli: string;
  const worlds: AgentWorld[] = [];

  beforeAll(async () => {
    claude = await startClaudeServer();
    unused = await startModelServer();
    cli = unpackCli();
  });
  beforeEach(() => claude.discardSteps());
  afterAll(async () => {
    for (const world of worlds) world.remove();
    await Promise.all([claude.stop(), unused.stop()]);
  });

  /** A home whose provider checks thoughts, with a window of 200,000 tokens. */
  async function createWorld(provider: Provider, installed: "ours" | "bare" = "ours"): Promise<AgentWorld> {
    const contextWindow = 200_000;
    const own = (compat: object) => ({
      ...{ baseUrl: claude.url, api: "anthropic-messages", apiKey: "scripted" },
      models: [{ id: MODEL, contextWindow, maxTokens: 8_000, reasoning: true, compat }],
    });
    const adaptive = { forceAdaptiveThinking: true };
    const inline = { ...adaptive, supportsMidConvoSystemMessages: true, supportsMidConvoToolChanges: true };
    const providers = {
      gateway: { gateway: own(adaptive) },
      inline: { inline: own(inline) },
      anthropic: {
        anthropic: {
          ...{ baseUrl: claude.url, apiKey: "scripted" },
          modelOverrides: { [MODEL]: { contextWindow } },
        },
      },
    }[provider];
    const world = { ...createAgentWorld(unused), piModel: { name: `${provider}/${MODEL}`, providers } };
    worlds.push(world);
    if (installed === "ours") await manage(world, "install");
    return world;
  }

  async function manage(world: AgentWorld, verb: "install" | "remove"): Promise<void> {
    const { program, env } = await pi.command(world);
    const given = { cwd: world.project, env: { ...world.sandbox.env, ...env }, encoding: "utf8" } as const;
    const folder = dirname(dirname(cli));
    const { status, stdout, stderr } = spawnSync(program[0], [program[1] ?? "", verb, folder], given);
    expect(status, stderr + stdout).toBe(0);
  }

  /** Takes back the newest edit from the command line. */
  function undo({ sandbox }: AgentWorld): void {
    const given = { cwd: sandbox.project, env: sandbox.env, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli, "undo"], given);
    expect(status, stderr + stdout).toBe(0);
  }

  /** What the server saw while something was done. */
  async function watch(steps: readonly ClaudeStep[], run: () => Promise<unknown>) {
    claude.discardSteps();
    claude.script(steps);
    const before = claude.requests.length;
    await run();
    const requests = claude.requests.slice(before);
    const dropped = requests.reduce((total, request) => total + request.dropped, 0);
    const last = requests.at(-1);
    // Left out though the provider would have taken them.
    const lost = requests.reduce((total, { sent, keepable }) => total + Math.max(0, keepable - sent), 0);
    return {
      refused: requests.flatMap(({ refusal }) => refusal ?? []),
      count: requests.length,
      dropped,
      lost,
      last,
    };
  }

  it(
    "has 0 requests refused in 65 steps, a restart and an undo, where pi alone is refused for good",
    LONG,
    async () => {
      const steps = [...reads(0, 65), { text: "All read." }];
      const bare = await createWorld("gateway", "bare");
      const alone = await watch(steps, () => pi.run(bare, ["-p", "Read the files"]));
      // pi's own summary stands before thoughts that it keeps.
      expect(alone.refused).toHaveLength(1);
      expect(alone.refused[0]).toContain("bound to a different conversation");

      const world = await createWorld("gateway");
      const first = await watch(steps, () => ask(world, "Read the files"));
      expect(first).toMatchObject({ count: 66, refused: [], lost: 0 });
      expect(editedRoles(world)).toEqual(new Set(["toolResult", "assistant"]));
      expect(first.last?.sent).toBeGreaterThan(0);
      const again = await watch([...reads(70, 5), { text: "These too." }], () => ask(world, "Go on", ["-c"]));
      expect(again).toMatchObject({ count: 6, refused: [], lost: 0 });
      undo(world);
      const undone = await watch([...reads(80, 3), { text: "Back." }], () => ask(world, "Go on", ["-c"]));
      expect(undone).toMatchObject({ refused: [], lost: 0 });
      const session = await openRpc(world, ["-c"]);
      try {
        const open = await watch([...reads(90, 8), { text: "More." }], () => session.prompt("Go on"));
        expect(open).toMatchObject({ refused: [], lost: 0 });
        undo(world);
        const live = await watch([...reads(100, 8), { text: "More." }], () => session.prompt("Go on"));
        expect(live).toMatchObject({ refused: [], lost: 0 });
        const compacted = await watch([...reads(110, 3), { text: "More." }], async () => {
          expect(await session.ask({ type: "compact" })).toMatchObject({ success: true });
          await session.prompt("Go on");
        });
        expect(compacted).toMatchObject({ refused: [], lost: 0 });
      } finally {
        await session.stop();
      }
    },
  );

  it("leaves a session that is valid after pi remove, and goes on in it when it is back", LONG, async () => {
    const world = await createWorld("inline");
    const ours = await watch([...reads(0, 45), { text: "All read." }], () => ask(world, "Read the files"));
    expect(ours).toMatchObject({ count: 46, refused: [], lost: 0 });
    expect(editedRoles(world)).toContain("assistant");
    await manage(world, "remove");
    const without = await watch([...reads(50, 2), { text: "Yes." }], () => ask(world, "Go on", ["-c"]));
    expect(without).toMatchObject({ count: 3, refused: [], dropped: 0 });
    // What was sent last is sent so by pi alone, to the thought.
    const sent = messagesOf(ours.last);
    expect(messagesOf(without.last).slice(0, sent.length)).toEqual(sent);
    await manage(world, "install");
    const back = await watch([...reads(60, 5), { text: "Yes." }], () => ask(world, "Go on", ["-c"]));
    expect(back).toMatchObject({ count: 6, refused: [], lost: 0 });
  });

  it(
    "drops no thought of pi's own Anthropic models: none is sent that the provider would drop",
    LONG,
    async () => {
      const steps = [...reads(0, 65), { text: "All read." }];
      const bare = await createWorld("anthropic", "bare");
      const alone = await watch(steps, () => pi.run(bare, ["-p", "Read the files"]));
      const world = await createWorld("anthropic");
      const ours = await watch(steps, () => ask(world, "Read the files"));
      const again = await watch([...reads(70, 3), { text: "Yes." }], () => ask(world, "Go on", ["-c"]));
      expect([...alone.refused, ...ours.refused, ...again.refused]).toEqual([]);
      expect(alone.dropped).toBeGreaterThan(0);
      expect(ours).toMatchObject({ count: 66, dropped: 0, lost: 0 });
      expect(again).toMatchObject({ dropped: 0, lost: 0 });
      expect(again.last?.sent).toBeGreaterThan(0);
    },
  );

  it("goes on in a session that an earlier version has bricked", LONG, async () => {
    const world = await createWorld("gateway");
    await watch([...reads(0, 40), { text: "All read." }], () => ask(world, "Read the files"));
    asEarlierVersion(world);
    const bricked = await watch([], () => pi.run(world, ["-c", "-ne", "-p", "Go on"]));
    expect(bricked.refused).toHaveLength(1);
    const healed = await watch([...reads(50, 3), { text: "Yes." }], () => ask(world, "Go on", ["-c"]));
    expect(healed).toMatchObject({ count: 4, refused: [] });
    expect(healed.last?.sent).toBe(3);
  });

  it("asks again in the same run where a thought is refused all the same", LONG, async () => {
    const world = await createWorld("gateway");
    await watch([...reads(0, 3), { text: "All read." }], () => ask(world, "Read the files"));
    damageThought(world);
    const asked = await watch([...reads(10, 2), { text: "Yes." }], () => ask(world, "Go on", ["-c"]));
    expect(asked.refused).toHaveLength(1);
    expect(asked).toMatchObject({ count: 4, last: { sent: 2 } });
    const next = await watch([{ text: "Yes." }], () => ask(world, "Sure?", ["-c"]));
    expect(next).toMatchObject({ refused: [], last: { sent: 3 } });
  });

  it(
    "leaves out the thoughts of before it was installed, and sends none to the child of a fork",
    LONG,
    async () => {
      const world = await createWorld("gateway", "bare");
      await watch([...reads(0, 3), { text: "All read." }], () => ask(world, "Read the files"));
      await manage(world, "install");
      const fork = { tool: "fork", commands: [{ prompt: "Say how many there were." }] };
      const steps = [...reads(10, 2), fork, { text: "Three." }, { text: "So three." }];
      const forked = await watch(steps, () => ask(world, "Go on", ["-c"]));
      expect(forked).toMatchObject({ count: 5, refused: [] });
      const [, , , child, parent] = claude.requests.slice(-5);
      expect(JSON.stringify(child?.body.messages)).toContain("You are fork");
      expect(child?.sent).toBe(0);
      expect(parent?.sent).toBe(3);
    },
  );
});

const MODEL = "claude-opus-5-5";

/** Steps that read an output of 30 KB each. */
function reads(from: number, count: number): readonly ClaudeStep[] {
  return Array.from({ length: count }, (_, at) => {
    const line = `file${from + at}.ts:$i: const value$i = compute($i, other$i) // words`;
    return { commands: [`for i in $(seq 1 500); do echo "${line}"; done`] };
  });
}

/** The messages of a request, without what only the cache reads. */
function messagesOf(request: { readonly body: UnknownObject } | undefined): readonly unknown[] {
  const read = (key: string, value: unknown) => (key === "cache_control" ? undefined : value);
  return asArray(JSON.parse(JSON.stringify(request?.body.messages ?? [], read)));
}

/** Whose entries were edited in the newest session. */
function editedRoles(world: AgentWorld): ReadonlySet<unknown> {
  const entries = entriesOf(world);
  const targets = new Set(
    entries.flatMap(({ type, targetId }) => (type === "context_edit" ? [targetId] : [])),
  );
  return new Set(entries.filter(({ id }) => targets.has(id)).map(({ message }) => asObject(message).role));
}

/** The session as it was left before thoughts were known: old outputs were edited, and no answer. */
function asEarlierVersion(world: AgentWorld): void {
  const answers = new Set(
    entriesOf(world)
      .filter(({ message }) => asObject(message).role === "assistant")
      .map(({ id }) => id),
  );
  rewrite(join(world.home, ".pi", "agent", "sessions"), (lines) => {
    let parent: unknown = null;
    return lines.flatMap((line) => {
      if (line.type === "context_edit" && answers.has(line.targetId)) return [];
      if (line.type === "session") return [line];
      const linked = { ...line, parentId: parent };
      parent = line.id;
      return [linked];
    });
  });
  rewrite(join(world.home, ".local", "share", "carryover", "journal"), (lines) =>
    lines.filter(({ e }) => asObject(e).type !== "thoughts"),
  );
}

/** A thought that no provider takes, and that nobody can see to be damaged. */
function damageThought(world: AgentWorld): void {
  rewrite(join(world.home, ".pi", "agent", "sessions"), (lines) => {
    const damaged = lines.findIndex(({ message }) => asObject(message).role === "assistant");
    return lines.map((line, index) =>
      index === damaged
        ? asObject(
            JSON.parse(JSON.stringify(line).replace(/"thinkingSignature":"../, '"thinkingSignature":"x')),
          )
        : line,
    );
  });
}

function rewrite(
  folder: string,
  change: (lines: readonly UnknownObject[]) => readonly UnknownObject[],
): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".jsonl")) continue;
    const file = join(folder, name);
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const changed = change(lines.map((line) => asObject(JSON.parse(line))));
    writeFileSync(file, changed.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}
