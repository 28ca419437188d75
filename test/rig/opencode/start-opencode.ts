import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { installOpenCode } from "./install-opencode.ts";
import { createOpenCodeClient, type OpenCodeClient } from "./opencode-client.ts";
import { endProcessTree } from "./process-tree.ts";
import { runOpenCode } from "./run-opencode.ts";
import { createSandbox, type Sandbox, writeConfig } from "./sandbox.ts";

/** Runs the real OpenCode against a scripted model, in a sandbox, without a network. */
export async function startOpenCode(options: StartOpenCodeOptions): Promise<OpenCode> {
  const binary = await installOpenCode();
  const sandbox = options.sandbox ?? createSandbox();
  writeConfig(sandbox, { modelUrl: options.modelUrl, config: options.config ?? {} });
  const env = { ...sandbox.env, ...options.env };
  const args = ["serve", "--hostname", "127.0.0.1", "--port", await freePort(), ...LOGGING];
  const { url, end } = await startServer({ binary, args, sandbox, env });
  return {
    ...createOpenCodeClient({ url, directory: sandbox.project }),
    url,
    sandbox,
    kill: end,
    runCommand: async (...args) => {
      const { code, stdout, stderr } = await runOpenCode({ binary, args, sandbox, env });
      if (code !== 0)
        throw new Error(`opencode ${args.join(" ")} ended with code ${code}: ${stderr.slice(-500)}`);
      return stdout;
    },
    async stop() {
      await end();
      if (options.sandbox === undefined) sandbox.remove();
    },
  };
}

export interface StartOpenCodeOptions {
  readonly modelUrl: string;
  /** Unset means a fresh one, removed on stop. */
  readonly sandbox?: Sandbox;
  /** Top-level configuration keys that replace ours. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface OpenCode extends OpenCodeClient {
  readonly url: string;
  readonly sandbox: Sandbox;
  /** Runs another command of the same binary in the same sandbox and gives what it prints. */
  runCommand(...args: readonly string[]): Promise<string>;
  /** Ends the program as a power cut would and keeps the sandbox, so that it can be started again. */
  kill(): Promise<void>;
  /** Ends the program with everything it started, and removes a sandbox that was made for it. */
  stop(): Promise<void>;
}

/** Starts a program that serves, and gives its address once it listens. What it prints is kept in the sandbox. */
export async function startServer({ binary, args, sandbox, env }: ServerCommand): Promise<StartedServer> {
  const child = spawn(binary, args, { cwd: sandbox.project, env, stdio: ["ignore", "pipe", "pipe"] });
  const printed = createWriteStream(join(sandbox.root, "server-output.txt"), { flags: "a" });
  child.stdout.pipe(printed, { end: false });
  child.stderr.pipe(printed, { end: false });
  child.once("exit", () => printed.end());
  const onExit = (): void => endProcessTree(child.pid);
  process.once("exit", onExit);
  const end = async (): Promise<void> => {
    process.off("exit", onExit);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    const isRunning = child.exitCode === null && child.signalCode === null;
    endProcessTree(child.pid);
    if (isRunning) await gone;
  };
  const url = await listeningUrl(child).catch(async (cause: unknown) => {
    await end();
    throw cause;
  });
  return { url, end };
}

interface ServerCommand {
  readonly binary: string;
  readonly args: readonly string[];
  readonly sandbox: Sandbox;
  readonly env: Readonly<Record<string, string>>;
}

interface StartedServer {
  readonly url: string;
  /** Ends the program with everything it started, as a power cut would. */
  readonly end: () => Promise<void>;
}

const LOGGING = ["--print-logs", "--log-level", "INFO"] as const;

// Left to itself OpenCode takes port 4096 again and again, and a connection kept from the last one that had it is dead.
export async function freePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

/** Seconds, on a machine that does nothing else. */
const START_TIMEOUT_MS = 180_000;

function listeningUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new Error(`OpenCode ${why}. It printed: ${output.slice(-2000)}`));
    };
    const timer = setTimeout(() => fail(`did not listen within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString("utf8")).slice(-10_000);
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("error", (error) => fail(`could not be started (${error.message})`));
    child.once("exit", (code) => fail(`ended with code ${code} before it listened`));
  });
}
