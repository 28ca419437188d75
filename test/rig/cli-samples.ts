import type { FormatName } from "../../src/formats/registry.ts";
import { exportOf, workingSession } from "./eval-session.ts";
import { type History, historyOf, modelSays, resultOf, userSays } from "./random-history/history.ts";
import {
  lowerToClaudeCode,
  lowerToCodex,
  lowerToGeminiCli,
  lowerToPi,
  lowerToSweAgent,
} from "./random-history/lower-to-files.ts";
import { lowerToOpencode2 } from "./random-history/lower-to-opencode2.ts";

/** A transcript file of one format, as its text. */
export interface Sample {
  readonly format: FormatName;
  readonly fileName: string;
  readonly text: string;
}

const STEPS = 24;

/** One working session of two dozen calls, written in every format that is known. */
export function cliSamples(): readonly Sample[] {
  return (Object.keys(SAMPLES) as FormatName[]).map((format) => {
    const [fileName, wire] = SAMPLES[format];
    const value = wire(history());
    return {
      format,
      fileName,
      text: fileName.endsWith(".jsonl") ? jsonLines(value as []) : JSON.stringify(value),
    };
  });
}

const SAMPLES: Readonly<
  Record<FormatName, readonly [fileName: string, wire: (history: History) => unknown]>
> = {
  opencode: ["opencode.json", () => exportOf(workingSession({ steps: STEPS }))],
  "claude-code": ["claude-code.jsonl", lowerToClaudeCode],
  codex: ["codex.jsonl", lowerToCodex],
  pi: ["pi.jsonl", lowerToPi],
  "gemini-cli": ["gemini-cli.jsonl", lowerToGeminiCli],
  "swe-agent": ["swe-agent.traj", lowerToSweAgent],
  opencode2: ["opencode2.json", lowerToOpencode2],
  anthropic: ["anthropic.json", anthropicRequest],
  "openai-chat": ["chat.json", chatRequest],
  "openai-responses": ["responses.json", responsesRequest],
  gemini: ["gemini.json", geminiRequest],
  "ai-sdk": ["ai-sdk.json", aiSdkMessages],
};

/** What a call of the session printed. */
export function outputOf(step: number): string {
  return Array.from({ length: 60 }, (_, line) => `${line}: value ${step * 1000 + line} of the table`).join(
    "\n",
  );
}

function history(): History {
  const work = steps((step) => {
    const call = { id: `call_${step}`, tool: "read", input: inputOf(step) };
    return [modelSays(`Step ${step}.`, [call]), resultOf(call, outputOf(step))];
  });
  return historyOf([userSays("Please tidy up the tables."), ...work.flat(), userSays("And now the rest.")]);
}

function anthropicRequest(): object {
  const messages = steps((step) => [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: `toolu_${step}`, name: "read", input: inputOf(step) }],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `toolu_${step}`, content: outputOf(step) }],
    },
  ]);
  return { system: "Be good.", messages: [{ role: "user", content: "Tidy up." }, ...messages.flat()] };
}

function chatRequest(): object {
  const messages = steps((step) => [
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: `call_${step}`,
          type: "function",
          function: { name: "read", arguments: JSON.stringify(inputOf(step)) },
        },
      ],
    },
    { role: "tool", tool_call_id: `call_${step}`, content: outputOf(step) },
  ]);
  return { model: "gpt-5", messages: [{ role: "user", content: "Tidy up." }, ...messages.flat()] };
}

function responsesRequest(): object {
  const items = steps((step) => [
    {
      type: "function_call",
      call_id: `call_${step}`,
      name: "read",
      arguments: JSON.stringify(inputOf(step)),
    },
    { type: "function_call_output", call_id: `call_${step}`, output: outputOf(step) },
  ]);
  return { model: "gpt-5", input: [{ role: "user", content: "Tidy up." }, ...items.flat()] };
}

function geminiRequest(): object {
  const contents = steps((step) => [
    { role: "model", parts: [{ functionCall: { id: `c${step}`, name: "read", args: inputOf(step) } }] },
    {
      role: "user",
      parts: [{ functionResponse: { id: `c${step}`, name: "read", response: { output: outputOf(step) } } }],
    },
  ]);
  return { contents: [{ role: "user", parts: [{ text: "Tidy up." }] }, ...contents.flat()] };
}

function aiSdkMessages(): readonly object[] {
  const messages = steps((step) => {
    const about = { toolCallId: `call_${step}`, toolName: "read" };
    const output = { type: "text", value: outputOf(step) };
    return [
      { role: "assistant", content: [{ type: "tool-call", ...about, input: inputOf(step) }] },
      { role: "tool", content: [{ type: "tool-result", ...about, output }] },
    ];
  });
  return [{ role: "user", content: "Tidy up." }, ...messages.flat()];
}

function inputOf(step: number): Readonly<Record<string, unknown>> {
  return { path: `src/table-${step % 20}.ts` };
}

function steps<T>(make: (step: number) => T): readonly T[] {
  return Array.from({ length: STEPS }, (_, step) => make(step));
}

function jsonLines(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
