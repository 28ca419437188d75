import { describe, expect, it } from "vitest";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { lastUserTurn, messageFormat } from "./messages.ts";

describe("what a later child inherits of a tool output", () => {
  const state = (output: string, ride: unknown) => ({
    info: { role: "assistant" },
    parts: [{ type: "tool", state: { status: "completed", output, metadata: { carryover: { ride } } } }],
  });

  it.each([
    {
      name: "leaves the added result out",
      output: "grey\n\nRESULT",
      ride: { offset: 4, length: 8 },
      left: "grey",
    },
    {
      name: "keeps what follows it",
      output: "grey RESULT brown",
      ride: { offset: 5, length: 7 },
      left: "grey brown",
    },
    { name: "keeps all where nothing was added", output: "grey", ride: undefined, left: "grey" },
    { name: "keeps all where the note is nonsense", output: "grey", ride: { offset: "x" }, left: "grey" },
  ])("$name", ({ output, ride, left }) => {
    const [message] = messageFormat.withoutResults([state(output, ride)]);
    expect(message).toMatchObject({ parts: [{ state: { output: left } }] });
  });

  it("is the same reference where nothing was added", () => {
    const message = state("grey", undefined);
    expect(messageFormat.withoutResults([message])[0]).toBe(message);
  });
});

describe("the turn that a delivery repeats", () => {
  const turn = (agent: string, part: Readonly<Record<string, unknown>>): SessionMessage => ({
    info: { role: "user", agent, model: { providerID: "p", modelID: agent } },
    parts: [{ type: "text", text: "x", ...part }],
  });

  it.each([
    { name: "is the newest of the user", messages: [turn("one", {}), turn("two", {})], agent: "two" },
    {
      name: "is not one of a program",
      messages: [turn("one", {}), turn("two", { synthetic: true })],
      agent: "one",
    },
    {
      name: "is not a request to compact",
      messages: [turn("one", {}), turn("two", { type: "compaction" })],
      agent: "one",
    },
    { name: "is any where there is no other", messages: [turn("one", { synthetic: true })], agent: "one" },
  ])("$name", ({ messages, agent }) => {
    expect(lastUserTurn(messages)).toEqual({ agent, model: { providerId: "p", modelId: agent } });
  });
});
