import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { rigFolder } from "../../test/rig/install-program.ts";
import {
  type ModelRequest,
  type ModelServer,
  startModelServer,
} from "../../test/rig/model-server/model-server.ts";
import type { Step } from "../../test/rig/model-server/step.ts";
import { OPENCODE_VERSION } from "../../test/rig/opencode/install-opencode.ts";
import type { Prompt, StoredMessage } from "../../test/rig/opencode/opencode-client.ts";
import {
  type ChatMessage,
  digestLongTexts,
  type RecordedRequest,
  type Recording,
} from "../../test/rig/opencode/recording.ts";
import { createSandbox } from "../../test/rig/opencode/sandbox.ts";
import { type OpenCode, startOpenCode } from "../../test/rig/opencode/start-opencode.ts";
import { scrubMachine } from "./scrub.ts";

/** One session to be recorded: where it happens, and what happens in it. */
export interface RecordingCase {
  readonly name: string;
  readonly about: string;
  /** Top-level configuration keys of OpenCode. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** What the session is called; the name of the case when unset. */
  readonly title?: string;
  /** Where the result goes when it is no test recording. */
  readonly file?: string;
  play(stage: Stage): Promise<unknown>;
}

/** A running OpenCode with one open session, and a model that follows the script. */
export interface Stage {
  readonly sessionId: string;
  readonly model: ModelServer;
  readonly project: string;
  opencode(): OpenCode;
  /** Sends the prompt and plays the steps; returns when the agent has finished its turn. */
  turn(prompt: string | Prompt, steps: readonly Step[]): Promise<void>;
  /** Ends the program as a power cut would, and starts it again on the same data. */
  restart(): Promise<void>;
  /** What is stored now, with every request so far. */
  recording(): Promise<Recording>;
  scrub<T>(value: T): T;
  close(): Promise<void>;
}

export async function openStage({
  name,
  title = name,
  about,
  config = {},
  files = {},
}: RecordingCase): Promise<Stage> {
  const model = await startModelServer();
  const sandbox = createSandbox({ files, pathFolders: [join(rigFolder(), "bin")] });
  requireRipgrep(sandbox.env);
  const agentUrls: string[] = [];
  const start = async (): Promise<OpenCode> => {
    const started = await startOpenCode({ modelUrl: model.url, sandbox, config });
    agentUrls.push(started.url);
    return started;
  };
  let opencode = await start();
  const sessionId = await opencode.createSession(title);
  return {
    sessionId,
    model,
    project: sandbox.project,
    opencode: () => opencode,
    async turn(prompt, steps) {
      model.script(steps);
      await opencode.prompt(sessionId, typeof prompt === "string" ? { text: prompt } : prompt);
      await opencode.waitUntilIdle(sessionId);
    },
    async restart() {
      await opencode.kill();
      opencode = await start();
    },
    async recording() {
      const messages = await opencode.messages(sessionId);
      const requests = model.requests.filter((each) => each.sessionId === sessionId && each.lane !== "title");
      return {
        about,
        opencodeVersion: OPENCODE_VERSION,
        messages,
        requests: requests.map((each) => recordedRequest(each, { messages, home: sandbox.home })),
      };
    },
    scrub: (value) => scrubMachine(value, { home: sandbox.home, modelUrl: model.url, agentUrls }),
    async close() {
      const unused = model.unusedSteps();
      if (unused.length > 0) console.warn(`${name}: ${unused.length} steps were never asked for`);
      await opencode.stop();
      sandbox.remove();
      await model.stop();
    },
  };
}

function requireRipgrep(env: Readonly<Record<string, string>>): void {
  try {
    execFileSync("rg", ["--version"], { env, stdio: "ignore" });
  } catch (cause) {
    throw new Error(`OpenCode's grep needs ripgrep: put rg on PATH or into ${join(rigFolder(), "bin")}`, {
      cause,
    });
  }
}

interface Surroundings {
  readonly messages: readonly StoredMessage[];
  readonly home: string;
}

function recordedRequest(request: ModelRequest, { messages, home }: Surroundings): RecordedRequest {
  const answer = messages.findLast(
    ({ info }) => info.role === "assistant" && info.time.created <= request.atMs,
  );
  if (answer === undefined) throw new Error("A request reached the model for which nothing was stored");
  const sent = request.body.messages as readonly ChatMessage[];
  return {
    lane: request.lane,
    model: request.model,
    answeredBy: answer.info.id,
    // Paths are scrubbed before the digest, since a hash keeps what it was made of.
    messages: digestLongTexts(
      JSON.parse(
        JSON.stringify(sent.map(withoutSystemPrompt)).replaceAll(home, "/home/dev"),
      ) as ChatMessage[],
    ),
  };
}

function withoutSystemPrompt(message: ChatMessage): ChatMessage {
  if (message.role !== "system") return message;
  return { role: "system", content: `(system prompt, ${JSON.stringify(message.content).length} chars)` };
}
