import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { anthropic } from "../../../src/formats/wires/anthropic/anthropic.ts";
import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import { outcomeText } from "../../../src/transcript/content.ts";
import { messageText } from "../../../src/transcript/message.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../model-server/model-server.ts";
import { type Answer, call, type Step } from "../model-server/step.ts";
import { waitFor } from "../wait-for.ts";
import { type AgentWorld, createAgentWorld, pi } from "./agent-programs.ts";
import { describeAgent } from "./describe-agent.ts";
import { unpackCli } from "./packed-cli.ts";

/** Tests in the real pi, in which the package is installed as people do it; the model is scripted, with a window of 60,000 tokens. */
export async function describePi(tests: (place: PiPlace) => void): Promise<void> {
  const server = await startModelServer();
  afterAll(() => server.stop());
  await describeAgent(pi, () => {
    const world = createAgentWorld(server, { windowTokens: 60_000 });
    const folder = dirname(dirname(unpackCli()));
    const sessions: PiRpc[] = [];
    let begun = 0;
    const manage = async (verb: "install" | "remove"): Promise<void> => {
      const { program, env } = await pi.command(world);
      const given = { cwd: world.project, env: { ...world.sandbox.env, ...env }, encoding: "utf8" } as const;
      const { status, stdout, stderr } = spawnSync(program[0], [program[1] ?? "", verb, folder], given);
      expect(status, stderr + stdout).toBe(0);
    };
    beforeAll(() => manage("install"));
    beforeEach(() => {
      server.discardSteps();
      begun = server.requests.length;
    });
    afterEach(async () => {
      for (const session of sessions.splice(0)) await session.stop();
    });
    afterAll(() => world.remove());
    tests({
      server,
      world,
      folder,
      manage,
      requests: () => server.requests.slice(begun),
      async open(args) {
        const session = await openRpc(world, args);
        sessions.push(session);
        return session;
      },
    });
  });
}

interface PiPlace {
  readonly server: ModelServer;
  readonly world: AgentWorld;
  /** The unpacked package. */
  readonly folder: string;
  /** By pi's own commands, without the model, which is for prompts. */
  manage(verb: "install" | "remove"): Promise<void>;
  /** The requests of the running test. */
  requests(): readonly ModelRequest[];
  /** Opens pi as a program drives it, until the test ends. */
  open(args: readonly string[]): Promise<PiRpc>;
}

/** Says one prompt to the program, to its end. */
export async function ask(world: AgentWorld, prompt: string, args: readonly string[] = []): Promise<void> {
  const { code, stderr, stdout } = await pi.run(world, [...args, "-p", prompt]);
  expect(code, stderr + stdout).toBe(0);
  expect(stderr).toBe("");
}

/**
 * The same where Carryover is gone since the last prompt, and its tools with it. Thoughts are bound to the tools, too, and pi
 * alone asks again with all of them: a new account would refuse the session for good, so this is an old one.
 */
export async function askWithoutUs(
  world: AgentWorld,
  prompt: string,
  args: readonly string[] = [],
): Promise<void> {
  await world.server.thinking.within("free", () => ask(world, prompt, args));
}

/** Answers that read a long output each. */
export function many(count: number): readonly Step[] {
  return Array.from({ length: count }, (_, at) => {
    const line = `file${at}.ts:$i: const value${at} = compute($i, other$i) // more words here`;
    return call("bash", { command: `for i in $(seq 1 190); do echo "${line}"; done` });
  });
}

/** An answer to the child of a fork. */
export function ofChild(answer: Omit<Answer, "type">): Step {
  return { contains: "You are fork", reply: { type: "answer", ...answer } };
}

/** The entries of the newest session. */
export function entriesOf({ home }: AgentWorld): readonly UnknownObject[] {
  const folder = join(home, ".pi", "agent", "sessions");
  const [newest = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .reverse();
  return readFileSync(join(folder, newest), "utf8")
    .trim()
    .split("\n")
    .map((line) => asObject(JSON.parse(line)));
}

function decoded(request: ModelRequest | undefined) {
  return request === undefined ? [] : anthropic.decode(request.body as never);
}

export function outputsOf(request: ModelRequest | undefined): readonly string[] {
  return decoded(request).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool" ? [outcomeText(part.outcome)] : [])),
  );
}

export function textsOf(request: ModelRequest | undefined): string {
  return [...decoded(request).map((message) => messageText(message)), ...outputsOf(request)].join("\n");
}

export function resultsIn(request: ModelRequest | undefined): readonly string[] {
  return textsOf(request).match(/<fork_result delivery=[\s\S]*?<\/fork_result>/g) ?? [];
}

/** pi as a program drives it, which sees what a person would. */
export interface PiRpc {
  /** A command, and the answer to it. */
  ask(command: object): Promise<UnknownObject>;
  /** Says something and waits until pi rests. */
  prompt(message: string): Promise<void>;
  /** Waits until pi has come to rest so many times. */
  settled(times: number): Promise<void>;
  /** Gives a command of an extension, and waits for a message like this. */
  command(text: string, what: RegExp): Promise<void>;
  /** Waits until this was shown. */
  shown(method: string, what: RegExp): Promise<void>;
  stop(): Promise<void>;
  /** As a crash ends it. */
  kill(): Promise<void>;
}

/** Opens pi as a program drives it. */
export async function openRpc(world: AgentWorld, args: readonly string[]): Promise<PiRpc> {
  const { program, env } = await pi.command(world);
  const [node, ...first] = program;
  const child: ChildProcess = spawn(node, [...first, "--mode", "rpc", ...args], {
    cwd: world.project,
    env: { ...world.sandbox.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const events: UnknownObject[] = [];
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on("line", (line) => events.push(asObject(JSON.parse(line))));
  let count = 0;
  const rests = (): number => events.filter(({ type }) => type === "agent_settled").length;
  const shownBy = (method: string): readonly string[] =>
    events
      .filter((event) => event.type === "extension_ui_request" && event.method === method)
      .map(({ message, statusText, widgetLines }) =>
        String(message ?? statusText ?? asArray(widgetLines).join("\n")),
      );
  const session: PiRpc = {
    async ask(command) {
      count += 1;
      const id = `request-${count}`;
      child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`);
      return waitFor(
        () => events.find((event) => event.type === "response" && event.id === id),
        `the answer to ${JSON.stringify(command)}`,
      );
    },
    async prompt(message) {
      const before = rests();
      expect(await session.ask({ type: "prompt", message })).toMatchObject({ success: true });
      await session.settled(before + 1);
    },
    settled: async (times) => void (await waitFor(() => rests() >= times, `pi at rest, ${times} times`)),
    async command(text, what) {
      const before = shownBy("notify").length;
      expect(await session.ask({ type: "prompt", message: text })).toMatchObject({ success: true });
      const isShown = (): boolean =>
        shownBy("notify")
          .slice(before)
          .some((message) => what.test(message));
      await waitFor(isShown, `${what} by ${text}`);
    },
    shown: async (method, what) =>
      void (await waitFor(() => shownBy(method).some((text) => what.test(text)), `${method} ${what}`)),
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
  expect(await session.ask({ type: "get_state" })).toMatchObject({ success: true });
  return session;
}
