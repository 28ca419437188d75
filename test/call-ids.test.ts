import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forkContext } from "../src/fork/fork.ts";
import { claudeCode } from "../src/formats/files/claude-code/claude-code.ts";
import { codex } from "../src/formats/files/codex/codex.ts";
import { geminiCli } from "../src/formats/files/gemini-cli/gemini-cli.ts";
import { opencode2 } from "../src/formats/files/opencode2/opencode2.ts";
import { pi } from "../src/formats/files/pi/pi.ts";
import { sweAgent } from "../src/formats/files/swe-agent/swe-agent.ts";
import { aiSdk } from "../src/formats/wires/ai-sdk/ai-sdk.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { opencode2Request } from "../src/formats/wires/opencode2/opencode2-request.ts";
import { createSession } from "../src/session/session.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { deepFreeze } from "../src/testing/format-contract.ts";
import { outcomeText } from "../src/transcript/content.ts";
import { applyEdits, type Edit } from "../src/transcript/edit.ts";
import type { Format } from "../src/transcript/format.ts";
import type { Transcript } from "../src/transcript/message.ts";
import type { ToolPart } from "../src/transcript/part.ts";
import { createFakeClock } from "./rig/fakes.ts";
import {
  type History,
  type HistoryCall,
  historyOf,
  modelSays,
  type Step,
  userSays,
} from "./rig/random-history/history.ts";
import {
  lowerToClaudeCode,
  lowerToCodex,
  lowerToGeminiCli,
  lowerToPi,
} from "./rig/random-history/lower-to-files.ts";
import { lowerToOpenCode } from "./rig/random-history/lower-to-opencode.ts";
import { lowerToOpencode2, lowerToOpencode2Request } from "./rig/random-history/lower-to-opencode2.ts";
import { PROVIDER_CASES } from "./rig/random-history/provider-cases.ts";
import { runs } from "./rig/runs.ts";

interface FormatCase {
  readonly name: string;
  readonly format: Format<unknown>;
  readonly write: (history: History) => unknown;
}

const FORMATS: readonly FormatCase[] = [
  ...PROVIDER_CASES.map(({ api, format, lower }) => ({ name: api, format, write: lower })),
  { name: "ai-sdk", format: aiSdk as Format<unknown>, write: lowerToAiSdk },
  {
    name: "opencode",
    format: opencode as Format<unknown>,
    write: (history) => lowerToOpenCode(history, { number: 1 }),
  },
  { name: "opencode2", format: opencode2 as Format<unknown>, write: lowerToOpencode2 },
  {
    name: "opencode2-request",
    format: opencode2Request as Format<unknown>,
    write: lowerToOpencode2Request,
  },
  { name: "claude-code", format: claudeCode as Format<unknown>, write: lowerToClaudeCode },
  { name: "codex", format: codex as Format<unknown>, write: lowerToCodex },
  { name: "gemini-cli", format: geminiCli as Format<unknown>, write: lowerToGeminiCli },
  { name: "pi", format: pi as Format<unknown>, write: lowerToPi },
  { name: "swe-agent", format: sweAgent as Format<unknown>, write: lowerToNamedCalls },
];

function lowerToAiSdk({ steps }: History): unknown {
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

/** As SWE-agent writes a run of a model that calls tools; its histories without named calls have no ids to share. */
function lowerToNamedCalls({ steps }: History): unknown {
  const history = steps.flatMap((step): readonly object[] => {
    if (step.type === "user") return [{ role: "user", content: step.texts.join("\n") }];
    if (step.type === "results")
      return step.results.map(({ callId, text }) => ({
        role: "tool",
        content: text,
        tool_call_ids: [callId],
      }));
    if (step.type !== "model") return [];
    const tool_calls = step.calls.map(({ id, tool, input }) => ({
      id,
      type: "function",
      function: { name: tool, arguments: JSON.stringify(input) },
    }));
    return [{ role: "assistant", content: step.text, thought: step.text, action: "look", tool_calls }];
  });
  return { trajectory: [], history };
}

/** For each turn the ids of its calls, as servers give them: numbered anew, the same for all, none, or any of these. */
const ids: fc.Arbitrary<readonly (readonly string[])[]> = fc
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

/** Call n asks for `run n.` and gets `result n.`, whatever its id. */
function historyWith(turns: readonly (readonly string[])[], more = ""): History {
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
        text: String(input.command).replace("run", "result") + more,
        isError: false,
        image: undefined,
      })),
    });
  }
  return historyOf([...steps, userSays("Go on.")]);
}

/** What each call asked for, with what it got. */
function pairs(transcript: Transcript): readonly string[] {
  return calls(transcript).map(
    ({ input, outcome }) => `${(input as { command?: string }).command} → ${outcomeText(outcome)}`,
  );
}

function calls(transcript: Transcript): readonly ToolPart[] {
  return transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
}

function expectedPairs(turns: readonly (readonly string[])[]): readonly string[] {
  return turns.flat().map((_, index) => `run ${index + 1}. → result ${index + 1}.`);
}

describe.each(FORMATS)("calls that share an id in $name", ({ format, write }) => {
  const at = 1;

  it("are read with their own results and under names of their own, which stay as the conversation grows", () => {
    fc.assert(
      fc.property(ids, (turns) => {
        const transcript = format.decode(deepFreeze(write(historyWith(turns))));
        expect(pairs(transcript)).toEqual(expectedPairs(turns));
        const names = calls(transcript).map(({ callId }) => callId);
        expect(new Set(names).size).toBe(names.length);
        expect(names).not.toContain("");
        const shorter = calls(format.decode(write(historyWith(turns.slice(0, -1)))));
        expect(names.slice(0, shorter.length)).toEqual(shorter.map(({ callId }) => callId));
      }),
      { numRuns: runs(200) },
    );
  });

  it("are all sent: by a session, by a fork, and after each of some edits", () => {
    fc.assert(
      fc.property(ids, fc.nat(9), (turns, hidden) => {
        const wire = deepFreeze(write(historyWith(turns)));
        const transcript = format.decode(wire);
        const expected = expectedPairs(turns);

        const session = createSession({ clock: createFakeClock() });
        session.observe(transcript);
        expect(pairs(session.projection())).toEqual(expected);
        const sent = format.apply(wire, session.edits(), { at });
        expect(pairs(format.decode(sent))).toEqual(expected);

        const fork = forkContext(transcript);
        for (let number = 1; number <= expected.length; number++)
          expect(fork.text).toContain(`result ${number}.`);
        const inherited = [...fork.edits, ...repairPairing(applyEdits(transcript, fork.edits, { at }))];
        expect(pairs(format.decode(format.apply(wire, inherited, { at })))).toEqual(expected);

        const repaired = format.apply(wire, repairPairing(transcript, { lastMessage: "user" }), { at });
        expect(format.faults(repaired)).toEqual([]);

        // Whatever leaves, the other results stay with their calls.
        const gone = hidden % transcript.length;
        const messageId = transcript[gone]?.id ?? "";
        const hide: Edit = { type: "hide-message", messageId, stage: "test", reason: "test" };
        const left = transcript.filter((_, index) => index !== gone);
        expect(pairs(format.decode(format.apply(wire, [hide], { at })))).toEqual(pairs(left));
      }),
      { numRuns: runs(200) },
    );
  });

  it("are in the window of a session that is too small for them, or are recalled by the handle of an edit", async () => {
    await fc.assert(
      fc.asyncProperty(ids, async (turns) => {
        const wire = write(historyWith(turns, "\nline".repeat(400)));
        // Small, so that results have to leave the window.
        const limits = { contextTokens: 3_000, outputTokens: 300 };
        const session = createSession({ clock: createFakeClock() }, { limits });
        session.observe(format.decode(wire));
        await session.prepare({ moment: "after-turn" });
        const shown = JSON.stringify(session.projection());
        const handles = session.edits().flatMap((edit) => edit.omitted?.handle ?? []);
        const recalled = await Promise.all(handles.map((handle) => session.recall(handle)));
        const texts = recalled.map((each) => (each.status === "found" ? each.text : ""));
        for (const number of turns.flat().keys()) {
          const result = `result ${number + 1}.`;
          expect(shown.includes(result) || texts.some((text) => text.includes(result)), result).toBe(true);
        }
      }),
      { numRuns: runs(40, 8) },
    );
  });
});
