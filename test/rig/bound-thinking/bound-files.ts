import { readTranscript } from "../../../src/formats/read-transcript.ts";
import { filterCompacted } from "../../../src/stages/boundary.ts";
import type { UnknownObject } from "../../../src/text/unknown-value.ts";
import { outcomeText } from "../../../src/transcript/content.ts";
import { type Message, project } from "../../../src/transcript/message.ts";
import {
  createThinkingCheck,
  type TakenRequest,
  type ThinkingCheck,
  type ThinkingRead,
} from "./bound-thinking.ts";

/** A session with a provider that binds thoughts, as one program stores it, and what that provider says to it. */
export interface BoundFile {
  readonly format: string;
  readonly fileName: string;
  readonly text: string;
  /** What the provider answers when the conversation in a file goes on. */
  goOn(text: string): Promise<ThinkingRead>;
  /** How many thoughts a file would send. */
  thoughts(text: string): Promise<number>;
}

export interface Step {
  readonly number: number;
  readonly thinking: UnknownObject;
  readonly id: string;
  readonly input: UnknownObject;
  readonly output: string;
}

export const TASK = "Read the files.";

/** The steps of a conversation whose thoughts a strict provider has signed. */
export function boundSteps(count: number, model: string): BoundSteps {
  const check = createThinkingCheck();
  const steps: Step[] = [];
  let messages: readonly UnknownObject[] = [{ role: "user", content: TASK }];
  for (let number = 0; number < count; number++) {
    const id = `call_${number}`;
    const input = { path: `src/${id}.ts` };
    const output = `export const ${id} = compute(${number});\n`.repeat(40);
    const [thinking = {}] = check.sign<UnknownObject>(check.read({ model, messages }) as TakenRequest, [
      { type: "thinking", thinking: `Thought ${number}.`, signature: "" },
    ]);
    steps.push({ number, thinking, id, input, output });
    messages = [...messages, ...stepMessages(steps.at(-1) as Step)];
  }
  return { check, steps, messages };
}

interface BoundSteps {
  readonly check: ThinkingCheck;
  readonly steps: readonly Step[];
  readonly messages: readonly UnknownObject[];
}

function stepMessages({ thinking, id, input, output }: Step): readonly UnknownObject[] {
  return [
    { role: "assistant", content: [thinking, { type: "tool_use", id, name: "read", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: output }] },
  ];
}

/** One conversation in the formats of agents and frameworks. */
export function boundFiles({ model, steps: count = 24 }: BoundOptions): readonly BoundFile[] {
  const { check, steps, messages } = boundSteps(count, model);
  const blocks = new Map(steps.map(({ thinking }) => [thinking.thinking, thinking]));
  async function request(text: string): Promise<readonly UnknownObject[]> {
    const { transcript } = await readTranscript(Buffer.from(text));
    return project(filterCompacted(transcript)).flatMap((message) => wireOf(message, blocks));
  }
  const file = (format: string, fileName: string, text: string): BoundFile => ({
    format,
    fileName,
    text,
    goOn: async (changed) => check.read({ model, messages: await request(changed) }),
    thoughts: async (changed) => JSON.stringify(await request(changed)).split('"type":"thinking"').length - 1,
  });
  return [
    file("claude-code", "claude-code.jsonl", jsonLines(claudeCodeLines(steps, model))),
    file("pi", "pi.jsonl", jsonLines(piLines(steps, model))),
    file("opencode", "opencode.json", JSON.stringify(openCodeExport(steps, model))),
    file("anthropic", "anthropic.json", JSON.stringify({ model, max_tokens: 4_000, messages })),
    file("ai-sdk", "ai-sdk.json", JSON.stringify(aiSdkMessages(steps))),
  ];
}

interface BoundOptions {
  readonly model: string;
  readonly steps?: number;
}

/** A message as Anthropic's API is sent it. */
function wireOf(
  { role, parts, summary }: Message,
  blocks: ReadonlyMap<unknown, UnknownObject>,
): readonly UnknownObject[] {
  const content = parts.flatMap((part): readonly UnknownObject[] => {
    if (part.type === "reasoning") return [blocks.get(part.text) ?? {}];
    if (part.type === "tool")
      return [{ type: "tool_use", id: part.callId, name: part.tool, input: part.input }];
    return part.type === "text" ? [{ type: "text", text: part.text }] : [];
  });
  const results = parts.flatMap((part) =>
    part.type === "tool"
      ? [{ type: "tool_result", tool_use_id: part.callId, content: outcomeText(part.outcome) }]
      : [],
  );
  return [
    ...(content.length === 0 ? [] : [{ role: summary ? "user" : role, content }]),
    ...(results.length === 0 ? [] : [{ role: "user", content: results }]),
  ];
}

const AT = "2026-11-17T10:00:00.000Z";

/** Each block of an answer in a line of its own, as Claude Code writes them. */
export function claudeCodeLines(steps: readonly Step[], model: string): readonly object[] {
  const base = {
    sessionId: "00000000-0000-4000-8000-000000000001",
    cwd: "/",
    version: "2.1.326",
    timestamp: AT,
  };
  let parentUuid: string | null = null;
  const line = (uuid: string, type: string, message: object): object => {
    const written = { ...base, parentUuid, isSidechain: false, userType: "external", type, uuid, message };
    parentUuid = uuid;
    return written;
  };
  return [
    line("task", "user", { role: "user", content: TASK }),
    ...steps.flatMap(({ number, thinking, id, input, output }) => {
      const head = { id: `msg_${number}`, type: "message", role: "assistant", model };
      const call = { type: "tool_use", id, name: "read", input };
      const result = { type: "tool_result", tool_use_id: id, content: output };
      return [
        line(`thought-${number}`, "assistant", { ...head, content: [thinking] }),
        line(`call-${number}`, "assistant", { ...head, content: [call] }),
        line(`result-${number}`, "user", { role: "user", content: [result] }),
      ];
    }),
  ];
}

/** A session of pi in the third version of its file. */
export function piLines(steps: readonly Step[], model: string): readonly UnknownObject[] {
  let parentId: string | null = null;
  const entry = (id: string, message: object): UnknownObject => {
    const written = { type: "message", id, parentId, timestamp: AT, message };
    parentId = id;
    return written;
  };
  return [
    { type: "session", version: 3, id: "00000000-0000-4000-8000-000000000002", timestamp: AT, cwd: "/" },
    entry("task", { role: "user", content: TASK, timestamp: 1 }),
    ...steps.flatMap(({ number, thinking, id, input, output }) => [
      entry(`answer-${number}`, {
        role: "assistant",
        content: [
          { type: "thinking", thinking: thinking.thinking, thinkingSignature: thinking.signature },
          { type: "toolCall", id, name: "read", arguments: input },
        ],
        ...{ api: "anthropic-messages", provider: "anthropic", model, stopReason: "toolUse", timestamp: 1 },
        usage: { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20 },
      }),
      entry(`result-${number}`, {
        role: "toolResult",
        toolCallId: id,
        toolName: "read",
        content: [{ type: "text", text: output }],
        isError: false,
        timestamp: 1,
      }),
    ]),
  ];
}

/** What `opencode export` writes. */
export function openCodeExport(steps: readonly Step[], model: string): object {
  const sessionID = "ses_bound";
  const head = (id: string, created: number) => ({ id, sessionID, time: { created } });
  const answers = steps.map(({ number, thinking, id, input, output }) => {
    const messageID = `msg_${String(number).padStart(4, "0")}`;
    const part = (index: number, rest: object) => ({
      id: `prt_${number}_${index}`,
      ...{ messageID, sessionID },
      ...rest,
    });
    const state = { status: "completed", input, output, title: "", metadata: {}, time: { start: 1, end: 2 } };
    return {
      info: {
        ...head(messageID, number + 2),
        role: "assistant",
        ...{ parentID: "msg_", modelID: model, providerID: "anthropic", mode: "build", agent: "build" },
        ...{ path: { cwd: "/", root: "/" }, cost: 0, finish: "tool-calls" },
        tokens: { input: 10, output: 10, reasoning: 0, cache: { read: 0, write: 0 } },
      },
      parts: [
        part(0, {
          type: "reasoning",
          text: thinking.thinking,
          metadata: { anthropic: { signature: thinking.signature } },
          time: { start: 1, end: 2 },
        }),
        part(1, { type: "tool", callID: id, tool: "read", state }),
      ],
    };
  });
  const task = {
    info: {
      ...head("msg_", 1),
      role: "user",
      agent: "build",
      model: { providerID: "anthropic", modelID: model },
    },
    parts: [{ id: "prt_task", messageID: "msg_", sessionID, type: "text", text: TASK }],
  };
  return { info: { id: sessionID, title: "Bound", directory: "/" }, messages: [task, ...answers] };
}

/** Messages of the AI SDK, which do not name their model. */
function aiSdkMessages(steps: readonly Step[]): readonly object[] {
  return [
    { role: "user", content: TASK },
    ...steps.flatMap(({ thinking, id, input, output }) => [
      {
        role: "assistant",
        content: [
          {
            type: "reasoning",
            text: thinking.thinking,
            providerOptions: { anthropic: { signature: thinking.signature } },
          },
          { type: "tool-call", toolCallId: id, toolName: "read", input },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value: output } },
        ],
      },
    ]),
  ];
}

export function jsonLines(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
