import fc from "fast-check";
import type { SessionExport } from "../../../src/formats/wires/opencode/decode-messages.ts";
import { outcomeText } from "../../../src/transcript/content.ts";
import type { Transcript } from "../../../src/transcript/message.ts";
import type { ToolPart } from "../../../src/transcript/part.ts";
import { type History, type HistoryCall, historyOf, modelSays, type Step, userSays } from "./history.ts";
import { lowerToOpenCode } from "./lower-to-opencode.ts";

/** For each turn the ids of its calls, as servers give them: numbered anew, the same for all, none, or any of these. */
export const sharedIds: fc.Arbitrary<readonly (readonly string[])[]> = fc
  .tuple(
    fc.constantFrom("numbered", "one", "none", "mixed"),
    fc.array(
      fc.array(fc.constantFrom("a", "a_2", "a_3", "call_1", "", "functions.bash:0"), {
        minLength: 1,
        maxLength: 4,
      }),
      {
        minLength: 2,
        maxLength: 6,
      },
    ),
  )
  .map(([way, turns]) =>
    turns.map((turn) =>
      turn.map((id, index) => ({ numbered: `call_${index}`, one: "call_0", none: "", mixed: id })[way] ?? id),
    ),
  );

const TOOLS = ["bash", "read", "grep"];

/** A history whose call n asks for `run n.` and gets `result n.`, whatever its id, with more around it where that is given. */
export function historyWith(turns: readonly (readonly string[])[], more = ""): History {
  let number = 0;
  const steps: Step[] = [userSays("Begin.")];
  for (const turn of turns) {
    const calls = turn.map((id): HistoryCall => {
      number += 1;
      return { id, tool: TOOLS[number % 3] ?? "bash", input: { command: `run ${number}.` } };
    });
    steps.push(modelSays("I look.", calls), {
      type: "results",
      results: calls.map(({ id, tool, input }) => ({
        callId: id,
        tool,
        text: more + String(input.command).replace("run", "result") + more,
        isError: false,
        image: undefined,
      })),
    });
  }
  return historyOf([...steps, userSays("Go on.")]);
}

/** What each call asked for, with what it got. */
export function pairs(transcript: Transcript): readonly string[] {
  return calls(transcript).map(
    ({ input, outcome }) => `${(input as { command?: string }).command} → ${outcomeText(outcome)}`,
  );
}

/** The calls of a transcript, in order. */
export function calls(transcript: Transcript): readonly ToolPart[] {
  return transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
}

/** What `pairs` gives where nothing is lost. */
export function expectedPairs(turns: readonly (readonly string[])[]): readonly string[] {
  return turns.flat().map((_, index) => `run ${index + 1}. → result ${index + 1}.`);
}

/** The messages of a history as the AI SDK has them. */
export function lowerToAiSdk({ steps }: History): readonly object[] {
  return steps.map((step) => {
    if (step.type === "user")
      return { role: "user", content: step.texts.map((text) => ({ type: "text", text })) };
    if (step.type === "model") {
      const content = step.calls.map(({ id, tool, input }) => ({
        type: "tool-call",
        toolCallId: id,
        toolName: tool,
        input,
      }));
      return { role: "assistant", content: [{ type: "text", text: step.text }, ...content] };
    }
    const results = step.type === "results" ? step.results : [];
    const content = results.map(({ callId, tool, text }) => ({
      type: "tool-result",
      toolCallId: callId,
      toolName: tool,
      output: { type: "text", value: text },
    }));
    return { role: "tool", content };
  });
}

/** The file that `opencode export` gives, whose calls have the ids that the history gives them. */
export function lowerToOpenCodeIds(history: History): SessionExport {
  const ids = history.steps.flatMap((step) => (step.type === "model" ? step.calls.map(({ id }) => id) : []));
  const exported = lowerToOpenCode(history, { number: 1 });
  return {
    ...exported,
    messages: exported.messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) => (part.type === "tool" ? { ...part, callID: ids.shift() } : part)),
    })),
  };
}
