import { type CarryoverOptions, carryover } from "../../../src/ai-sdk.ts";
import { aiSdk } from "../../../src/formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkMessage, AiSdkWire } from "../../../src/formats/wires/ai-sdk/ai-sdk-message.ts";
import type { PersistedDelta } from "../../../src/session/persist.ts";
import type { Session } from "../../../src/session/session.ts";
import { type OutputRange, outputBytes, toolText } from "./tool-texts.ts";

/** What a long loop has persisted. Sizes are bytes of JSON. */
export interface PersistedLoop {
  /** The rows that are left when a snapshot deletes those before it. */
  readonly rows: readonly PersistedDelta[];
  readonly mostRows: number;
  readonly historyBytes: number;
  /** The state at its largest, in the first half of the steps, in all of them, and at the end. */
  readonly halfMostStateBytes: number;
  readonly mostStateBytes: number;
  readonly stateBytes: number;
  readonly writtenBytes: number;
  readonly writes: number;
  readonly summaries: number;
  readonly session: Session;
  readonly messages: AiSdkWire;
  readonly sent: AiSdkWire;
}

/** Runs an agent loop through the middleware, with a model that is asked in this process. */
export async function runPersistedLoop(
  { steps, ...range }: LoopSize,
  options: CarryoverOptions = {},
): Promise<PersistedLoop> {
  let rows: PersistedDelta[] = [];
  const most = { rows: 0, state: 0, halfState: 0 };
  let writtenBytes = 0;
  let writes = 0;
  let sent: AiSdkWire = [];
  let summaries = 0;
  const base = scriptedModel((prompt, isSummary) => {
    if (!isSummary) sent = prompt;
    return isSummary ? `## Goal\nRead every file.\n## Progress\n${toolText(++summaries, 700)}` : "On it.";
  });
  const { model, session } = carryover(base, {
    limits: LOOP_LIMITS,
    persist: {
      load: () => rows,
      append(delta) {
        const json = JSON.stringify(delta);
        writtenBytes += Buffer.byteLength(json);
        writes++;
        rows = [...(delta.type === "snapshot" ? [] : rows), JSON.parse(json) as PersistedDelta];
        most.rows = Math.max(most.rows, rows.length);
        most.state = Math.max(most.state, Buffer.byteLength(JSON.stringify(session)));
      },
    },
    ...options,
  });
  const messages = loopMessages(steps, range);
  for (let step = 0; step <= steps; step++) {
    await model.doGenerate({ prompt: messages.slice(0, 2 + 2 * step), tools: LOOP_TOOLS });
    if (step <= steps / 2) most.halfState = most.state;
  }
  return {
    rows,
    mostRows: most.rows,
    historyBytes: Buffer.byteLength(JSON.stringify(messages)),
    halfMostStateBytes: most.halfState,
    mostStateBytes: most.state,
    stateBytes: Buffer.byteLength(JSON.stringify(session)),
    writtenBytes,
    writes,
    summaries,
    session,
    messages,
    sent,
  };
}

/** What the same messages are in another process, which has only the rows that are left, before it does anything. */
export async function resumeLoop({
  rows,
  messages,
}: Pick<PersistedLoop, "rows" | "messages">): Promise<ResumedLoop> {
  const { session } = carryover(
    scriptedModel(() => "On it."),
    { limits: LOOP_LIMITS, persist: { load: () => rows, append: () => undefined } },
  );
  await session.restore(aiSdk.decode(messages));
  return { sent: aiSdk.apply(messages, session.edits(), { at: 0 }), session };
}

interface ResumedLoop {
  readonly sent: AiSdkWire;
  readonly session: Session;
}

interface LoopSize extends OutputRange {
  readonly steps: number;
}

const LOOP_LIMITS = { contextTokens: 32_000, outputTokens: 4_000 } as const;
const LOOP_TOOLS = [
  {
    type: "function",
    name: "read",
    inputSchema: { type: "object", properties: { path: { type: "string" } } },
  },
];

function loopMessages(steps: number, range: OutputRange): AiSdkWire {
  const turns = Array.from({ length: steps }, (_, index): AiSdkMessage[] => {
    const call = { toolCallId: `c${index}`, toolName: "read" };
    const value = toolText(index + 1, outputBytes(index + 1, range));
    return [
      {
        role: "assistant",
        content: [
          { type: "text", text: `Step ${index}.` },
          { type: "tool-call", ...call, input: { path: `src/file-${index}.ts` } },
        ],
      },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value } }] },
    ];
  });
  return [
    { role: "system", content: "You are a careful reader of code." },
    { role: "user", content: [{ type: "text", text: "Read every file of the project." }] },
    ...turns.flat(),
  ];
}

/** A model as the AI SDK has them; usage is counted as four characters to a token. */
function scriptedModel(answer: (prompt: AiSdkWire, isSummary: boolean) => string) {
  const ask = (call: Call) => {
    const total = Math.ceil(JSON.stringify(call.prompt).length / 4);
    return {
      text: answer(call.prompt, call.tools === undefined),
      usage: {
        inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 60, text: 60, reasoning: 0 },
      },
      finishReason: { unified: "stop", raw: "stop" },
    };
  };
  return {
    specificationVersion: "v3",
    provider: "scripted",
    modelId: "claude-sonnet-4-5",
    supportedUrls: {},
    async doGenerate(call: Call) {
      const { text, ...facts } = ask(call);
      return { content: [{ type: "text", text }], warnings: [], ...facts };
    },
    async doStream(call: Call) {
      const { text, ...facts } = ask(call);
      const parts = [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: text },
        { type: "text-end", id: "1" },
        { type: "finish", ...facts },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  } as const;
}

interface Call {
  readonly prompt: AiSdkWire;
  readonly tools?: unknown;
}
