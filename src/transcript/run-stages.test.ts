import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import { runStages } from "./edit.ts";

const history = transcript("u:5 a:3 a:7 u:2");

describe("runStages", () => {
  it("gives each stage what the one before left, and all edits in order", () => {
    const hide = (messageId: string) =>
      ({ type: "hide-message", messageId, stage: "test", reason: "test" }) as const;
    const seen: number[] = [];
    const { transcript: left, edits } = runStages(history, [
      () => [hide("m1")],
      () => [],
      (messages) => {
        seen.push(messages.filter(({ metadata }) => metadata?.agentVisible === false).length);
        return [hide("m4")];
      },
    ]);
    expect(seen).toEqual([1]);
    expect(edits).toEqual([hide("m1"), hide("m4")]);
    expect(left.map(({ metadata }) => metadata?.agentVisible)).toEqual([false, undefined, undefined, false]);
  });

  it("changes nothing where no stage asks for it", () => {
    expect(runStages(history, [() => []])).toEqual({ transcript: history, edits: [] });
    expect(runStages(history, [() => []]).transcript).toBe(history);
  });
});
