import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../runs.ts";
import { type History, type ModelStep, turnsOf } from "./history.ts";
import { anyOpenCodeMessages } from "./lower-to-opencode.ts";
import { PROVIDER_CASES } from "./provider-cases.ts";
import { randomHistory, randomSession } from "./random-history.ts";

const histories = fc.sample(randomHistory(), { numRuns: runs(2_000), seed: 1 });
const share = (isSuch: (history: History) => boolean) => histories.filter(isSuch).length / histories.length;
const turns = ({ steps }: History) => steps.filter((step): step is ModelStep => step.type === "model");
const calls = (history: History) => turns(history).flatMap((turn) => turn.calls.map((call) => call.id));
const answers = ({ steps }: History) =>
  steps.flatMap((step) => (step.type === "results" ? step.results.map((result) => result.callId) : []));

describe("random histories", () => {
  it("are 1 to 200 messages long, most of them short", () => {
    const lengths = histories.map((history) => history.steps.length);
    expect(Math.min(...lengths)).toBe(1);
    expect(Math.max(...lengths)).toBeGreaterThan(120);
    expect(share((history) => history.steps.length <= 16)).toBeGreaterThan(0.8);
  });

  it("call up to eight tools in a turn", () => {
    const counts = new Set(histories.flatMap((history) => turns(history).map((turn) => turn.calls.length)));
    expect([...counts].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it.each<{ name: string; isSuch: (history: History) => boolean; atLeast: number }>([
    {
      name: "calls without a result",
      isSuch: (history) => calls(history).some((id) => !answers(history).includes(id)),
      atLeast: 0.1,
    },
    {
      name: "calls with two results",
      isSuch: (history) => new Set(answers(history)).size < answers(history).length,
      atLeast: 0.04,
    },
    {
      name: "results that come after the user has spoken",
      isSuch: ({ steps }) =>
        steps.some((step, n) => step.type === "results" && steps[n - 1]?.type === "user"),
      atLeast: 0.02,
    },
    {
      name: "call ids that come again",
      isSuch: (history) => new Set(calls(history)).size < calls(history).length,
      atLeast: 0.02,
    },
    {
      name: "two models",
      isSuch: (history) => new Set(turns(history).map((turn) => turn.model)).size === 2,
      atLeast: 0.03,
    },
    { name: "thinking", isSuch: (history) => history.isThinking, atLeast: 0.4 },
    { name: "more cache marks than are taken", isSuch: (history) => history.cacheMarks > 4, atLeast: 0.05 },
    {
      name: "images",
      isSuch: ({ steps }) => steps.some((step) => step.type === "user" && step.images.length > 0),
      atLeast: 0.1,
    },
  ])("hold $name often enough", ({ isSuch, atLeast }) => {
    expect(share(isSuch)).toBeGreaterThan(atLeast);
  });

  it.each(PROVIDER_CASES)("are without a fault on $api at least every fourth time", ({ format, lower }) => {
    expect(share((history) => format.faults(lower(history)).length === 0)).toBeGreaterThan(0.25);
  });
});

describe("random sessions", () => {
  const sessions = fc.sample(randomSession(), { numRuns: runs(2_000), seed: 1 });
  const shareOf = (isSuch: (history: History) => boolean) => sessions.filter(isSuch).length / sessions.length;

  it.each<{ name: string; isSuch: (history: History) => boolean; atLeast: number }>([
    {
      name: "compactions",
      isSuch: ({ steps }) => steps.some(({ type }) => type === "compaction"),
      atLeast: 0.2,
    },
    {
      name: "branches that were left",
      isSuch: ({ steps }) => steps.some(({ type }) => type === "rewind"),
      atLeast: 0.1,
    },
    {
      name: "what is written beside the conversation",
      isSuch: ({ steps }) => steps.some(({ type }) => type === "aside"),
      atLeast: 0.2,
    },
    { name: "results of no call", isSuch: (history) => answers(history).includes("lost"), atLeast: 0.1 },
    {
      name: "calls without a result",
      isSuch: (history) => calls(history).some((id) => !answers(history).includes(id)),
      atLeast: 0.1,
    },
    {
      name: "answers with a text behind a call",
      isSuch: (history) =>
        turnsOf(history).some(
          (turn) =>
            turn.type === "answer" &&
            turn.blocks.some(({ type }, at) => type === "text" && turn.blocks[at - 1]?.type === "call"),
        ),
      atLeast: 0.02,
    },
  ])("hold $name often enough", ({ isSuch, atLeast }) => {
    expect(shareOf(isSuch)).toBeGreaterThan(atLeast);
  });

  it("have everything in OpenCode's messages that OpenCode stores, and what it never should", () => {
    const wires = fc.sample(anyOpenCodeMessages, { numRuns: 1_000, seed: 1 });
    const parts = wires.flat().flatMap((message) => message.parts);
    const states = new Set(parts.map(({ state }) => (state as { status?: string } | undefined)?.status));
    expect([...states].map(String).toSorted()).toEqual([
      "completed",
      "error",
      "pending",
      "running",
      "undefined",
    ]);
    expect([...new Set(parts.map(({ type }) => type))].toSorted()).toEqual([
      "agent",
      "compaction",
      "file",
      "patch",
      "reasoning",
      "something-new",
      "step-finish",
      "step-start",
      "subtask",
      "text",
      "tool",
      "tool_result",
    ]);
    const roles = new Set(wires.flat().map(({ info }) => info.role));
    expect([...roles].toSorted()).toEqual(["assistant", "critic", "system", "user"]);
    const isRepeated = wires.filter((wire) => new Set(wire.map(({ info }) => info.id)).size < wire.length);
    expect(isRepeated.length).toBeGreaterThan(100);
  });
});
