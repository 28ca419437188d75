import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { placeOf } from "../../src/cli/handoff/deliver.ts";
import type { Finding } from "../../src/cli/rescue/lines/session-lines.ts";
import { outcomeText } from "../../src/transcript/content.ts";
import {
  AGENT_PROGRAMS,
  type AgentName,
  type AgentProgram,
  type AgentWorld,
  createAgentWorld,
} from "../rig/agents/agent-programs.ts";
import {
  type BrokenSession,
  brokenSessions,
  buildLines,
  FACTS,
  SMALL_WINDOW,
} from "../rig/agents/broken-sessions.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { readRequest } from "../rig/agents/read-request.ts";
import { buildCli } from "../rig/build-cli.ts";
import {
  type JudgedRequest,
  type ModelRequest,
  type ModelServer,
  startModelServer,
} from "../rig/model-server/model-server.ts";
import { call, type Reply, say } from "../rig/model-server/step.ts";
import { installOpenCode } from "../rig/opencode/install-opencode.ts";
import { findOpencode2 } from "../rig/opencode2/start-opencode2.ts";
import { createCliRunner } from "../rig/run-cli.ts";

const WINDOW_TOKENS = 200_000;
const LONG_CHARS = 900_000;

let cli = "";
const runCli = createCliRunner(() => cli);
let server: ModelServer;
let world: AgentWorld;
let opencodeBinary = "";

beforeAll(async () => {
  cli = await buildCli("cli-rescue");
  opencodeBinary = await installOpenCode();
  server = await startModelServer({ judge: refuseTooLong });
  world = createAgentWorld(server, { windowTokens: WINDOW_TOKENS });
});
afterAll(async () => {
  await server.stop();
  world.remove();
});

/** A provider that counts, and whose summaries fail: what compacts itself out of the trouble in time is not broken. */
function refuseTooLong({ rawBody }: JudgedRequest): Reply | undefined {
  const tokens = Math.round(rawBody.length / 4);
  const limit = rawBody.includes(SMALL_WINDOW.mark) ? SMALL_WINDOW.tokens : WINDOW_TOKENS;
  if (tokens <= limit && !SUMMARY_REQUEST.test(rawBody)) return undefined;
  const message = `prompt is too long: ${Math.max(tokens, limit + 1)} tokens > ${limit} maximum`;
  const error = { type: "invalid_request_error", code: "context_length_exceeded", message };
  return { type: "refusal", status: 400, body: { type: "error", error } };
}

const SUMMARY_REQUEST =
  /Respond with TEXT ONLY|context summarization a|anchored summary from|CONTEXT CHECKPOINT COMPACTION/;

for (const agent of AGENT_PROGRAMS) {
  await describeAgent(agent, () => {
    const broken = brokenSessions(LONG_CHARS).filter((session) => session.agent === agent.name);
    describe("a broken session", () => {
      it.skipIf(isSlow(agent)).each(broken)(
        "$name",
        async (session) => {
          const [before] = await Promise.all([goOnBroken(agent, session), rescueAndGoOn(agent, session)]);
          expect(before, "goes on as it is, with all that was said").toBe(session.before === "takes");
        },
        300_000,
      );

      it.skipIf(agent.name !== "claude-code")(
        "reads the files beside the original without being asked",
        async () => {
          server.script([call("Bash", { command: "seq 1 20000", description: "Count" }), say("Counted.")]);
          expect((await agent.ask(world, { prompt: "LONG OUTPUT" })).code).toBe(0);
          const [, whole = "", id = ""] =
            /Full output saved to: ([^\s"]*\/([0-9a-f-]{36})\/tool-results\/[\w.-]+)/.exec(
              JSON.stringify(requestsOf("LONG OUTPUT").at(-1)?.body),
            ) ?? [];
          const { status, stdout, stderr } = await runCli(["rescue", id, "--force", "--json"], {
            env: environment(),
          });
          expect(status, stderr).toBe(0);
          const { rescued } = JSON.parse(stdout) as RescueReport;
          expect(readFileSync(rescued.path, "utf8")).toContain(whole);
          server.discardSteps();
          server.script([call("Read", { file_path: whole, offset: 19_000, limit: 2 }), say("Read.")]);
          // Without what lets it skip permissions.
          const { code } = await agent.run(world, ["-p", "--resume", rescued.id, "READ IT AGAIN"]);
          expect(code).toBe(0);
          const { calls } = readRequest(requestsOf("READ IT AGAIN").at(-1) as ModelRequest);
          expect(calls.at(-1)?.outcome).toMatchObject({
            status: "done",
            output: expect.stringContaining("19000"),
          });
          const found = await runCli(
            ["recall", id, `tool-results/${whole.split("/").at(-1)}`, "--range", "19999-"],
            {
              env: environment(),
            },
          );
          expect(found.stdout).toContain("20000");
        },
      );

      it.skipIf(SHELLS[agent.name] === undefined)("reads again in its shell what did not fit", async () => {
        const { path, notice, id, commands } = tooLong.get(agent.name) as RescueReport["rescued"];
        const kept = readFileSync(path, "utf8");
        const gone = buildLines(LONG_CHARS).find((line) => !kept.includes(line)) ?? "";
        const [, recall = ""] = /in your shell: (.*) '<words/.exec(notice) ?? [];
        const prompt = `RECALL ${id}`;
        server.script([call(...(SHELLS[agent.name]?.(`${recall} '${gone}'`) ?? ["", {}])), say("Found.")]);
        const { code, stderr } = await resume(agent, [commands.at(-1)?.split(" ") ?? []], prompt);
        expect(code, stderr).toBe(0);
        const { calls } = readRequest(requestsOf(prompt).at(-1) as ModelRequest);
        expect(outcomeText(calls.at(-1)?.outcome ?? { status: "pending" })).toContain(gone);
      });
    });
  });
}

/** How the model of an agent runs a command; OpenCode takes too long to start for that. */
const SHELLS: Readonly<Partial<Record<AgentName, (command: string) => [string, object]>>> = {
  "claude-code": (command) => ["Bash", { command, description: "Recall" }],
  codex: (cmd) => ["exec_command", { cmd }],
  pi: (command) => ["bash", { command }],
};
const tooLong = new Map<AgentName, RescueReport["rescued"]>();

/** OpenCode takes half a minute for each session: `npm run test:all` has it. */
function isSlow({ name }: AgentProgram): boolean {
  return name.startsWith("opencode") && process.env.CARRYOVER_LONG === undefined;
}

/** True when the real program goes on with a broken session as it is, and the model is sent all that matters. */
async function goOnBroken(agent: AgentProgram, session: BrokenSession): Promise<boolean> {
  const { id, commands } = writeBroken(session);
  const prompt = `GO ON ${id}`;
  const { code } = await resume(agent, commands, prompt);
  const answered = requestsOf(prompt).findLast(({ reply }) => reply.type === "answer");
  const sent = JSON.stringify(answered?.body ?? "");
  return code === 0 && Object.values(FACTS).every((fact) => sent.includes(fact));
}

async function rescueAndGoOn(agent: AgentProgram, session: BrokenSession): Promise<void> {
  const original = writeBroken(session);
  const { findings, rescued } = await rescue(original.path, session);
  expect(findings.map(({ problem }) => problem)).toEqual(expect.arrayContaining([...session.problems]));
  expect(digestOf(original.path), "the original is untouched").toBe(original.digest);
  expect(statSync(rescued.path).mode & 0o777).toBe(0o600);
  if (session.problems.includes("too-long")) tooLong.set(agent.name, rescued);

  const prompt = `GO ON ${rescued.id}`;
  const { code, stdout, stderr } = await resume(
    agent,
    rescued.commands.map((line) => line.split(" ")),
    prompt,
  );
  expect(code, stdout + stderr).toBe(0);
  const request = requestsOf(prompt).at(-1) as ModelRequest;
  expect(request.reply.type).toBe("answer");
  const { faults, said, calls, offered } = readRequest(request);
  expect(faults).toEqual([]);
  expect(said).toContain("[Rescued by Carryover from session");
  const sent = JSON.stringify(request.body);
  expect(Object.values(FACTS).filter((fact) => !sent.includes(fact))).toEqual([]);
  expect(sent.length / 4).toBeLessThan(WINDOW_TOKENS * 0.8);
  expect(calls.map(({ tool }) => tool).filter((tool) => !offered.includes(tool))).toEqual([]);
}

interface WrittenSession {
  readonly id: string;
  readonly path: string;
  readonly digest: string;
  readonly commands: readonly (readonly string[])[];
}

/** Writes a broken session where its program looks for it. */
function writeBroken(session: BrokenSession): WrittenSession {
  const model = { provider: "scripted", id: "long-window" };
  const head = {
    id: randomUUID(),
    cwd: world.project,
    at: Date.now(),
    title: "A session",
    model,
    newId: () => randomUUID(),
  };
  const { path, commands } = placeOf(session.agent, { ...head, program: "opencode" }, environment());
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, session.content(head));
  return { id: head.id, path, digest: digestOf(path), commands };
}

const digestOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

function environment(): Record<string, string> {
  return { ...(world.sandbox.env as Record<string, string>), CODEX_HOME: world.home };
}

interface RescueReport {
  readonly findings: readonly Finding[];
  readonly rescued: {
    readonly id: string;
    readonly path: string;
    readonly commands: readonly string[];
    readonly notice: string;
  };
}

async function rescue(path: string, session: BrokenSession): Promise<RescueReport> {
  const openCode = session.agent === "opencode2" ? findOpencode2() : opencodeBinary;
  const env = { ...environment(), OPENCODE_BIN: openCode ?? "" };
  // What its program takes as it is need not be rescued.
  const args = session.isHarmless ? ["--force"] : [];
  const { status, stdout, stderr } = await runCli(["rescue", path, "--json", ...args], { env });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout) as RescueReport;
}

/** Runs the commands that go on with a session, the last one with a prompt. */
async function resume(
  agent: AgentProgram,
  commands: readonly (readonly string[])[],
  prompt: string,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  for (const [, ...args] of commands.slice(0, -1)) {
    // By a server that ends with the command, not by one that stays in the background.
    await agent.run(world, [...args, ...(agent.name === "opencode2" ? ["--standalone"] : [])]);
  }
  return agent.ask(world, { prompt, session: commands.at(-1)?.at(-1) ?? "" });
}

function requestsOf(prompt: string): readonly ModelRequest[] {
  return server.requests.filter(({ body }) => JSON.stringify(body).includes(prompt));
}
