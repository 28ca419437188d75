import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTranscript } from "../../src/formats/read-transcript.ts";
import { handOff } from "../../src/handoff/handoff.ts";
import { filterCompacted } from "../../src/stages/boundary.ts";
import { asArray, asObject, type UnknownObject } from "../../src/text/unknown-value.ts";
import { outcomeText } from "../../src/transcript/content.ts";
import type { Transcript } from "../../src/transcript/message.ts";
import type { ToolPart } from "../../src/transcript/part.ts";
import {
  type AgentProgram,
  type AgentWorld,
  claudeCode,
  codex,
  createAgentWorld,
  pi,
} from "../rig/agents/agent-programs.ts";
import { isClaudeCodesOwnRefusal } from "../rig/agents/claude-code-refusal.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { readRequest } from "../rig/agents/read-request.ts";
import { buildCli } from "../rig/build-cli.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";
import { call, say } from "../rig/model-server/step.ts";
import { createCliRunner } from "../rig/run-cli.ts";

let server: ModelServer;
let world: AgentWorld;

beforeAll(async () => {
  server = await startModelServer({ isOwnRefusal: isClaudeCodesOwnRefusal });
  world = createAgentWorld(server);
});
afterAll(async () => {
  await server.stop();
  world.remove();
});

const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } });
const filesIn = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name) && statSync(join(folder, name)).isFile())
    .map((name) => join(folder, name));
const linesOf = (path: string): readonly UnknownObject[] =>
  readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => asObject(JSON.parse(line)));
/** Claude Code writes each block of an answer as a line. */
const isOnlyThought = ({ message }: UnknownObject): boolean =>
  asArray(asObject(message).content).some((block) => asObject(block).type === "thinking");
const callsOf = (transcript: Transcript): readonly ToolPart[] =>
  transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
const textOf = (transcript: Transcript): string =>
  transcript.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join("\n");

const SHELLS: readonly (readonly [AgentProgram, (command: string) => [string, object]])[] = [
  [claudeCode, (command) => ["Bash", { command, description: "Count" }]],
  [codex, (cmd) => ["exec_command", { cmd }]],
  [pi, (command) => ["bash", { command }]],
];

for (const [agent, run] of SHELLS)
  await describeAgent(agent, () => {
    it("goes on behind a compaction that carryover wrote into its file, which still has what was summed up", async () => {
      const own = createAgentWorld(server);
      const cli = await buildCli("cli-formats");
      const carryover = createCliRunner(() => cli);
      const ask = async (prompt: string, session?: string) => {
        const { code, stderr } = await agent.ask(own, { prompt, ...(session && { session }) });
        expect(code, stderr).toBe(0);
      };
      server.discardSteps();
      server.script([
        call(...run("seq 1000 2000")),
        call(...run("seq 3000 4000")),
        say("Counted twice.", usage(9_000, 9)),
      ]);
      await ask("Count to two thousand");
      const [path = ""] = filesIn(own.home, /(?:projects|sessions)\/.*\.jsonl$/);
      const session = agent.name === "pi" ? path : basename(path, ".jsonl").slice(-36);
      server.script([say("Nothing more.", usage(9_100, 9))]);
      await ask("And what now?", session);
      const before = linesOf(path);

      const written = await carryover(["compact", path, "--local", "--keep", "500", "--write"]);
      expect(written.status, written.stderr).toBe(0);
      const after = readFileSync(path, "utf8");
      // A thought of what stays was made behind what is summed up now, so it leaves with that.
      for (const line of before.filter((each) => !isOnlyThought(each)))
        for (const key of ["uuid", "id"])
          if (typeof line[key] === "string") expect(after).toContain(`"${line[key]}"`);
      server.script([say("I go on.", usage(5_000, 9))]);
      await ask("Go on", session);
      const request = server.requests.findLast(({ body }) => JSON.stringify(body).includes("Go on"));
      const { calls, faults, said } = readRequest(request as ModelRequest);
      expect({ calls, faults }).toEqual({ calls: [], faults: [] });
      for (const kept of ["Lines of earlier work", "Count to two thousand", "And what now?", "Nothing more."])
        expect(said).toContain(kept);

      const [, handle = ""] = /\\n- (\S+\/\d+): (?:[^\\]|\\[^n])*seq 3000 4000/.exec(after) ?? [];
      const found = await carryover(["recall", path, handle]);
      expect(found.stdout).toContain("seq 3000 4000");
      expect(found.stdout).toContain("3500");
      own.remove();
    });
  });

await describeAgent(codex, () => {
  it("a rollout with a compaction is read as the model goes on with it, with the usage of each answer", async () => {
    server.script([
      call("exec_command", { cmd: "seq 1 50" }, usage(1_000, 7)),
      say("Fifty.", usage(1_100, 8)),
    ]);
    expect((await codex.ask(world, { prompt: "Count" })).code).toBe(0);
    const [path = ""] = filesIn(join(world.home, "sessions"), /rollout.*jsonl$/);
    const id = basename(path, ".jsonl").slice(-36);
    server.discardSteps();
    server.script([
      say("SUMMARY OF IT", { ...usage(9_000, 9), contains: "CHECKPOINT COMPACTION" }),
      call("exec_command", { cmd: "seq 1 60" }, usage(190_000, 10)),
      say("Sixty.", usage(1_500, 11)),
    ]);
    const limit = "model_auto_compact_token_limit=50000";
    const more = await codex.run(world, [
      ...["exec", "resume", id, "--skip-git-repo-check", "-c", limit, "Count more"],
    ]);
    expect(more.code, more.stderr).toBe(0);

    const { format, problems, transcript } = await readTranscript(readFileSync(path));
    expect({ format, problems }).toEqual({ format: "codex", problems: [] });
    const records = linesOf(path).filter(({ type }) => type === "token_usage_record");
    const used = records.map(({ payload }) => asObject(asObject(payload).usage).output_tokens);
    expect(used).toEqual([7, 8, 10, 9, 11]);
    expect(transcript.flatMap(({ usage: counted }) => counted?.outputTokens ?? [])).toEqual(used);
    expect(callsOf(transcript).map(({ outcome }) => outcome.status)).toEqual(["done", "done"]);
    const sent = asArray(asObject(server.requests.at(-1)?.body).input).map(asObject);
    expect(sent.filter(({ type }) => type === "function_call")).toEqual([]);
    const seen = filterCompacted(transcript);
    expect(callsOf(seen)).toEqual([]);
    expect(textOf(seen)).toContain("SUMMARY OF IT");
    expect(textOf(seen)).toContain("Sixty.");
  });
});

await describeAgent(claudeCode, () => {
  const folder = () => join(world.home, ".claude", "projects");

  describe("a session with a long output, a sub-agent and a compaction", () => {
    let path: string;

    it("is read with the tail that the compaction kept", async () => {
      server.discardSteps();
      const task = { contains: "LOOK HERE" };
      server.script([
        call("Bash", { command: "yes 0123456789abcdef | head -c 100000", description: "big" }, usage(900, 3)),
        call("Agent", {
          ...{ description: "look", prompt: "LOOK HERE", subagent_type: "general-purpose" },
          run_in_background: false,
        }),
        call("Bash", { command: "ls", description: "list" }, task),
        say("The child found it.", task),
        say("All done."),
      ]);
      expect((await claudeCode.ask(world, { prompt: "Count" })).code).toBe(0);
      path = filesIn(folder(), /\.jsonl$/).find((file) => !basename(file).startsWith("agent-")) ?? "";
      const session = basename(path, ".jsonl");
      server.discardSteps();
      server.script([say("SUMMARY FROM SCRIPT")]);
      expect((await claudeCode.ask(world, { prompt: "/compact", session })).code).toBe(0);
      server.discardSteps();
      server.script([say("Going on.")]);
      expect((await claudeCode.ask(world, { prompt: "Go on", session })).code).toBe(0);

      const { format, problems, transcript } = await readTranscript(readFileSync(path));
      expect({ format, problems }).toEqual({ format: "claude-code", problems: [] });
      expect(linesOf(path).filter(({ type }) => `${type}`.startsWith("api-request")).length).toBeGreaterThan(
        5,
      );
      expect(callsOf(transcript).map(({ tool }) => tool)).toEqual(["Bash", "Agent"]);
      const seen = textOf(filterCompacted(transcript));
      expect(seen).toContain("SUMMARY FROM SCRIPT");
      const sent = JSON.stringify(server.requests.at(-1)?.body);
      for (const kept of ["All done.", "SUMMARY FROM SCRIPT"]) expect(sent).toContain(kept);
      // The compaction kept it; it stands before it in the file.
      expect(seen).toContain("All done.");
    });

    it("has its long output in a file, which the receiver of a handoff is pointed to", async () => {
      const { transcript } = await readTranscript(readFileSync(path));
      const [whole = ""] = filesIn(folder(), /tool-results\/.*\.txt$/);
      expect(readFileSync(whole, "utf8")).toHaveLength(100_000);
      const [bash] = callsOf(transcript);
      expect(bash && outcomeText(bash.outcome)).toContain(`Full output saved to: ${whole}`);
      let count = 0;
      const newId = () => `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
      const { content } = handOff(transcript, {
        target: "codex",
        head: { id: newId(), cwd: world.project, at: 1, title: "A talk", newId },
        secrets: "kept",
        source: { format: "claude-code", path },
      });
      expect(content).toContain(whole);
    });

    it("has its sub-agent in a file of its own, which is read as a session", async () => {
      const [child = ""] = filesIn(folder(), /agent-[^/]*\.jsonl$/);
      const { format, transcript } = await readTranscript(readFileSync(child));
      expect(format).toBe("claude-code");
      expect(callsOf(transcript).map(({ tool, outcome }) => [tool, outcome.status])).toEqual([
        ["Bash", "done"],
      ]);
      expect(textOf(transcript)).toContain("The child found it.");
    });
  });
});
