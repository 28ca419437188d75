import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOST_SUMMARY, type HostUnderTest, type ScriptedReply } from "../../../src/testing.ts";
import {
  type AgentProgram,
  type AgentWorld,
  claudeCode,
  codex,
  createAgentWorld,
  pi,
} from "../agents/agent-programs.ts";
import { isClaudeCodesOwnRefusal } from "../agents/claude-code-refusal.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../model-server/model-server.ts";
import { type ScriptedCall, type Step, say } from "../model-server/step.ts";

/** A real coding agent with the published package in it, as the contract of hosts plays it. Each turn is a process. */
export interface ProgramHost {
  readonly program: AgentProgram;
  readonly cannot: NonNullable<HostUnderTest["cannot"]>;
  /** Puts Carryover into it, as its page in the docs says. */
  install(world: AgentWorld, cli: string): Promise<void>;
  /** The program's own name and input of a call. */
  call(tool: string, input: object): ScriptedCall;
  /** A turn in a new session, or in one that is given; gives the session. */
  ask(question: ProgramQuestion): Promise<string>;
  /** What has it sum up, as far as that is a turn of its own. */
  compact(question: ProgramQuestion & { readonly server: ModelServer }): Promise<void>;
}

interface ProgramQuestion {
  readonly world: AgentWorld;
  readonly text: string;
  readonly session?: string;
  /** Set in the turn after `compact`. */
  readonly isFull?: boolean;
}

const NO_PRUNING = "its hooks do not see the messages of a request";

const CLAUDE_CODE: ProgramHost = {
  program: claudeCode,
  cannot: { pruning: NO_PRUNING },
  async install(world, cli) {
    await installHooks(claudeCode, world, cli, ["install", "claude-code"]);
  },
  call: (tool, input) =>
    tool === "bash"
      ? { tool: "Bash", input: { ...input, description: "Run" } }
      : { tool: `mcp__plugin_carryover_carryover__${tool}`, input },
  async ask({ world, text, session }) {
    const resume = session === undefined ? [] : ["--resume", session];
    const { stdout } = await ran(
      claudeCode.run(world, [
        "-p",
        "--dangerously-skip-permissions",
        "--output-format",
        "json",
        ...resume,
        text,
      ]),
    );
    return JSON.parse(stdout).session_id;
  },
  async compact({ world, session, server }) {
    server.script([say(`<summary>${HOST_SUMMARY}</summary>`)]);
    await ran(claudeCode.ask(world, { prompt: "/compact", ...(session && { session }) }));
  },
};

const CODEX: ProgramHost = {
  program: codex,
  cannot: { pruning: NO_PRUNING },
  async install(world, cli) {
    await installHooks(codex, world, cli, ["install", "codex", "--trust"]);
  },
  call: (tool, input) =>
    tool === "bash"
      ? { tool: "exec_command", input: { cmd: (input as { command: string }).command } }
      : { tool, namespace: "mcp__carryover", input },
  async ask({ world, text, session, isFull }) {
    const limit = isFull ? ["-c", "model_auto_compact_token_limit=20000"] : [];
    const resume = session === undefined ? [] : ["resume", session];
    const args = [...limit, "exec", ...resume, "--skip-git-repo-check", "--json", text];
    const { stdout } = await ran(codex.run(world, args));
    return session ?? /"thread_id":"([^"]+)"/.exec(stdout)?.[1] ?? "";
  },
  async compact({ server }) {
    server.script([say(HOST_SUMMARY)]);
  },
};

const PI: ProgramHost = {
  program: pi,
  cannot: {},
  async install(world, cli) {
    const { program, env } = await pi.command(world);
    const [node, bundle = ""] = program;
    const given = { cwd: world.project, env: { ...world.sandbox.env, ...env }, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(node, [bundle, "install", dirname(dirname(cli))], given);
    if (status !== 0) throw new Error(`pi install ended with ${status}: ${stdout}${stderr}`);
  },
  call: (tool, input) => ({ tool, input }),
  async ask({ world, text, session = randomUUID(), isFull }) {
    // It compacts before a turn for which the window has become too small.
    const windowTokens = isFull ? 20_000 : 100_000;
    await ran(pi.run({ ...world, windowTokens }, ["--session-id", session, "-p", text]));
    return session;
  },
  async compact({ server }) {
    server.script([say(HOST_SUMMARY)]);
  },
};

export const PROGRAM_HOSTS: readonly ProgramHost[] = [CLAUDE_CODE, CODEX, PI];

/** The names that people know the programs by. */
export const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  pi: "pi",
};

/** The host for the contract. Its scenarios share one home, since an installation takes longer than they do. */
export function asHostUnderTest(
  host: ProgramHost,
  cli: () => string,
): HostUnderTest & { close(): Promise<void> } {
  let opened: Promise<{ readonly server: ModelServer; readonly world: AgentWorld }> | undefined;
  const open = async () => {
    const server = await startModelServer({ isOwnRefusal: isClaudeCodesOwnRefusal });
    const world = createAgentWorld(server);
    await host.install(world, cli());
    return { server, world };
  };
  return {
    name: PROGRAM_NAMES[host.program.name] ?? host.program.name,
    cannot: host.cannot,
    async start({ files }) {
      opened ??= open();
      const { server, world } = await opened;
      for (const [name, text] of Object.entries(files)) writeFileSync(join(world.project, name), text);
      const begun = server.requests.length;
      let session: string | undefined;
      let isFull = false;
      const question = (text: string): ProgramQuestion => ({
        world,
        text,
        isFull,
        ...(session !== undefined && { session }),
      });
      return {
        async turn(text, replies) {
          const before = server.requests.length;
          server.script(replies.map((reply) => stepOf(host, reply)));
          session = await host.ask(question(text));
          isFull = false;
          return server.requests.slice(before).filter(isOfParent).map(messagesOf);
        },
        async compact() {
          await host.compact({ ...question("Compact."), server });
          isFull = true;
        },
        restart: async () => {},
        childReply: (text) => server.script([{ contains: CHILD_MARK, reply: { type: "answer", text } }]),
        childRequests: () => server.requests.slice(begun).filter(isOfChild).map(messagesOf),
        stop: async () => server.discardSteps(),
      };
    },
    async close() {
      if (opened === undefined) return;
      const { server, world } = await opened;
      await server.stop();
      world.remove();
    },
  };
}

const CHILD_MARK = "You are fork";
const isOfChild = (request: ModelRequest): boolean => messagesOf(request).includes(CHILD_MARK);
const isOfParent = (request: ModelRequest): boolean => request.lane === "main" && !isOfChild(request);

function messagesOf({ body }: ModelRequest): string {
  return JSON.stringify(body.messages ?? body.input);
}

function stepOf(host: ProgramHost, reply: ScriptedReply): Step {
  if ("say" in reply) return say(reply.say);
  return { reply: { type: "answer", calls: [host.call(reply.call, reply.args)] } };
}

async function installHooks(
  program: AgentProgram,
  world: AgentWorld,
  cli: string,
  args: readonly string[],
): Promise<void> {
  await program.run(world, ["--version"]);
  const binary = await program.binary?.();
  const env = { ...world.sandbox.env, CLAUDE_BIN: binary, CODEX_BIN: binary, CODEX_HOME: world.home };
  const given = { env, encoding: "utf8", cwd: world.project } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], given);
  if (status !== 0) throw new Error(`carryover ${args.join(" ")} ended with ${status}: ${stdout}${stderr}`);
}

async function ran(running: ReturnType<AgentProgram["run"]>): ReturnType<AgentProgram["run"]> {
  const result = await running;
  if (result.code !== 0)
    throw new Error(`it ended with ${result.code}: ${result.stderr}${result.stdout}`.slice(0, 2_000));
  return result;
}
