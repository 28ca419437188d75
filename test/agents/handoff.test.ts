import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Turn, writeClaudeCode } from "../../src/handoff/writers/session-files.ts";
import { asArray, asObject } from "../../src/text/unknown-value.ts";
import { outcomeText } from "../../src/transcript/content.ts";
import {
  AGENT_PROGRAMS,
  type AgentName,
  type AgentProgram,
  type AgentWorld,
  claudeCode,
  createAgentWorld,
} from "../rig/agents/agent-programs.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { readRequest } from "../rig/agents/read-request.ts";
import { buildCli } from "../rig/build-cli.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";
import { call, say } from "../rig/model-server/step.ts";
import { installOpenCode } from "../rig/opencode/install-opencode.ts";
import { findOpencode2 } from "../rig/opencode2/start-opencode2.ts";

/** How each agent's model runs a command and reads a file. */
const CALLS: Readonly<
  Record<AgentName, { run: (command: string) => [string, object]; read?: (path: string) => [string, object] }>
> = {
  "claude-code": {
    run: (command) => ["Bash", { command, description: "Run" }],
    read: (path) => ["Read", { file_path: path }],
  },
  codex: { run: (command) => ["exec_command", { cmd: command }] },
  opencode: {
    run: (command) => ["bash", { command, description: "Run" }],
    read: (path) => ["read", { filePath: path }],
  },
  opencode2: { run: (command) => ["shell", { command }], read: (path) => ["read", { path }] },
  pi: { run: (command) => ["bash", { command }], read: (path) => ["read", { path }] },
};

let cli: string;
let server: ModelServer;
let world: AgentWorld;
let opencodeBinary: string;
const sources = new Map<AgentName, string>();

beforeAll(async () => {
  cli = await buildCli("cli-handoff");
  opencodeBinary = await installOpenCode();
  server = await startModelServer();
  world = createAgentWorld(server, { files: { "notes.txt": "first note\nsecond note\n" } });
});
afterAll(async () => {
  await server.stop();
  world.remove();
});

for (const source of AGENT_PROGRAMS) {
  await describeAgent(source, () => {
    describe("a session", () => {
      it("of its own is made", async () => {
        const { run, read } = CALLS[source.name];
        const notes = join(world.project, "notes.txt");
        server.discardSteps();
        server.script([
          call(...run("seq 1 400")),
          call(...(read?.(notes) ?? run(`cat ${notes}`))),
          say("There are two notes."),
        ]);
        const { code, stderr } = await source.ask(world, { prompt: "Count, then read the notes." });
        expect(code, stderr).toBe(0);
        sources.set(source.name, await newestSession(source, world));
      });

      it.each(AGENT_PROGRAMS.filter((target) => isPlayed(source, target)))(
        "goes on in $name with its calls and results",
        async (target) => {
          const file = sources.get(source.name) ?? "";
          const handed = handoff(file, target);
          expect(handed.calls).toBe(2);
          const { calls, faults, said, offered } = await resumed(target, handed, "Going on.");
          expect(faults).toEqual([]);
          expect(said).toContain("GO ON");
          expect(said).toContain("[Handed over by Carryover from");
          expect(said).toContain("There are two notes.");
          expect(calls.map(({ outcome }) => outcome.status)).toEqual(["done", "done"]);
          expect(outcomeText(calls[0]?.outcome ?? { status: "pending" })).toContain("399\n400");
          expect(outcomeText(calls[1]?.outcome ?? { status: "pending" })).toContain("second note");
          // A strict provider takes no call of a tool that it is not offered.
          expect(calls.map(({ tool }) => tool).filter((tool) => !offered.includes(tool))).toEqual([]);
        },
      );
    });
  });
}

await describeAgent(claudeCode, () => {
  it.each(AGENT_PROGRAMS.filter((target) => isPlayed(claudeCode, target)))(
    "an image of the user and one that a tool gave go on in $name",
    async (target) => {
      await target.install();
      const file = join(world.project, "images.jsonl");
      const lines = writeClaudeCode(IMAGE_TALK, {
        ...{ id: randomUUID(), cwd: world.project, at: Date.now(), title: "Images" },
        newId: () => randomUUID(),
      });
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const handed = handoff(file, target);
      expect(handed).toMatchObject({ images: 2, files: 0, calls: 1 });
      const { body, faults } = await resumed(target, handed, "I saw both.");
      expect(faults).toEqual([]);
      expect(body.split(IMAGE).length - 1).toBe(2);
    },
  );
});

const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PICTURE = { type: "image", mime: "image/png", base64: IMAGE } as const;
const IMAGE_TALK: readonly Turn[] = [
  { role: "user", blocks: [{ type: "text", text: "What is this?" }, PICTURE] },
  { role: "assistant", blocks: [{ type: "call", id: "c1", tool: "Bash", input: { command: "shot" } }] },
  {
    role: "user",
    blocks: [{ type: "result", id: "c1", tool: "Bash", text: "taken", images: [PICTURE], isError: false }],
  },
  { role: "assistant", blocks: [{ type: "text", text: "A dot." }] },
];

/** Goes on with a handed session, and gives what the model was sent. */
async function resumed(target: AgentProgram, handed: HandedOver, answer: string) {
  server.discardSteps();
  server.script([say(answer)]);
  const [last = "", ...before] = handed.commands.toReversed();
  for (const command of before.toReversed()) {
    // By a server that ends with the command, not by one that stays in the background.
    const alone = target.name === "opencode2" ? ["--standalone"] : [];
    const { code, stdout, stderr } = await target.run(world, [...wordsOf(command), ...alone]);
    expect(code, stdout + stderr).toBe(0);
  }
  const session = wordsOf(last).at(-1) ?? "";
  const { code, stdout, stderr } = await target.ask(world, { prompt: "GO ON", session });
  expect(code, stderr).toBe(0);
  expect(stdout).toContain(answer);
  const request = server.requests.at(-1) as ModelRequest;
  return { ...readRequest(request), body: JSON.stringify(request.body) };
}

/** From each to each with `npm run test:all`; otherwise to OpenCode, which takes long to start, from one other agent. */
function isPlayed(source: AgentProgram, target: AgentProgram): boolean {
  if (target.name === "opencode2" && findOpencode2() === undefined) return false;
  if (process.env.CARRYOVER_LONG !== undefined) return true;
  return !target.name.startsWith("opencode") || source.name === "claude-code";
}

interface HandedOver {
  /** The last one resumes the session, whose name is its last word. */
  readonly commands: readonly string[];
  readonly calls: number;
}

/** The arguments of a command, without the program. */
const wordsOf = (command: string): readonly string[] => command.split(" ").slice(1);

function handoff(file: string, target: AgentProgram): HandedOver {
  const to = target.name.replace(/2$/, "");
  const args = [cli, "handoff", file, "--to", to, "--cwd", world.project, "--json"];
  // The version of OpenCode on the PATH decides what it is handed.
  const openCode = target.name === "opencode2" ? findOpencode2() : opencodeBinary;
  const env = { ...world.sandbox.env, CODEX_HOME: world.home, OPENCODE_BIN: openCode };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout) as HandedOver;
}

/** The file of the newest session; OpenCode exports it. */
async function newestSession(agent: AgentProgram, { home, project }: AgentWorld): Promise<string> {
  if (agent.name.startsWith("opencode")) {
    const exported = join(project, `${agent.name}.json`);
    writeFileSync(exported, await exportNewest(agent));
    return exported;
  }
  const files = readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl") && /session|projects/.test(name))
    .map((name) => join(home, name));
  const times = new Map(files.map((file) => [file, statSync(file).mtimeMs]));
  return files.sort((a, b) => (times.get(b) ?? 0) - (times.get(a) ?? 0))[0] ?? "";
}

async function exportNewest(agent: AgentProgram): Promise<string> {
  const listed =
    agent.name === "opencode"
      ? await agent.run(world, ["session", "list", "--format", "json"])
      : await agent.run(world, [
          "api",
          "--standalone",
          "GET",
          "/api/session?parentID=null&limit=1&order=desc",
        ]);
  const answer: unknown = JSON.parse(listed.stdout);
  const [newest] = asArray(agent.name === "opencode" ? answer : asObject(answer).data);
  const id = String(asObject(newest).id);
  const args = agent.name === "opencode" ? ["export", id] : ["export", "--standalone", id];
  return (await agent.run(world, args)).stdout;
}
