import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installOpenCode } from "./install-opencode.ts";
import { createOpenCodeClient, type OpenCodeClient } from "./opencode-client.ts";
import { endProcessTree } from "./process-tree.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import { scriptedConfig } from "./scripted-config.ts";

/** Runs the real OpenCode against a scripted model, in a sandbox, without a network. */
export async function startOpenCode(options: StartOpenCodeOptions): Promise<OpenCode> {
  const binary = await installOpenCode();
  const sandbox = options.sandbox ?? createSandbox();
  writeFileSync(
    join(sandbox.configFolder, "opencode.json"),
    JSON.stringify(scriptedConfig({ modelUrl: options.modelUrl, config: options.config ?? {} }), null, 2),
  );
  const child = spawn(binary, ["serve", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: sandbox.project,
    env: { ...sandbox.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const onExit = (): void => endProcessTree(child.pid);
  process.once("exit", onExit);
  const end = async (): Promise<void> => {
    process.off("exit", onExit);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    const running = child.exitCode === null && child.signalCode === null;
    endProcessTree(child.pid);
    if (running) await gone;
  };
  const url = await listeningUrl(child).catch(async (cause: unknown) => {
    await end();
    throw cause;
  });
  return {
    ...createOpenCodeClient({ url, directory: sandbox.project }),
    url,
    sandbox,
    kill: end,
    runCommand: (...args) => commandOutput({ binary, args, sandbox }),
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

interface Command {
  readonly binary: string;
  readonly args: readonly string[];
  readonly sandbox: Sandbox;
}

// Into a file: OpenCode ends before a pipe is drained, and a long export arrives cut in the middle.
async function commandOutput({ binary, args, sandbox }: Command): Promise<string> {
  const file = join(sandbox.home, "..", `${args[0]}-output`);
  const output = openSync(file, "w");
  const child = spawn(binary, args, {
    cwd: sandbox.project,
    env: sandbox.env,
    stdio: ["ignore", output, "ignore"],
  });
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("exit", resolve));
  closeSync(output);
  if (code !== 0) throw new Error(`opencode ${args.join(" ")} ended with code ${code}`);
  return readFileSync(file, "utf8");
}

const START_TIMEOUT_MS = 60_000;

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
