import { describe, expect, it } from "vitest";
import { findOpenAIChatFaults } from "../src/formats/wires/openai-chat/find-faults.ts";
import { openaiChat } from "../src/formats/wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "../src/formats/wires/openai-responses/openai-responses.ts";
import { redactTranscript } from "../src/stages/redact.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { runStages } from "../src/transcript/edit.ts";
import { findOpenAIResponsesEditFaults } from "./rig/edit-faults.ts";
import {
  expectNoRegression,
  fold,
  foldForUser,
  hide,
  hidePart,
  notice,
  pruneAll,
  type Regression,
} from "./rig/provider-regression.ts";

const at = 1;
const long = "a long answer about the build ".repeat(400);

describe("breakages that were reported for chat completions", () => {
  const user = (content: unknown = "go") => ({ role: "user", content });
  const says = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
  const call = (id: string, input = '{"path":"a.ts"}') => ({
    id,
    type: "function",
    function: { name: "read", arguments: input },
  });
  const asks = (...calls: readonly object[]) => ({ role: "assistant", content: null, tool_calls: calls });
  const tool = (id: string, content: unknown = "ok") => ({ role: "tool", tool_call_id: id, content });
  const story = [user("build it"), says(long), user("and test it")];

  const regressions: readonly Regression[] = [
    {
      name: "langmem#126: the cut falls between the results of parallel calls",
      rule: "openai-chat-28",
      wire: [...story, asks(call("1"), call("2")), tool("1", long), tool("2"), says("made"), user("explain")],
      broken: [user("Summary."), tool("2"), says("made"), user("explain")],
      stages: [fold],
    },
    {
      name: "langmem#98: results are there twice, the second time without their call",
      rule: "openai-chat-28",
      wire: [user(), asks(call("1"), call("2")), tool("1"), tool("2"), tool("1"), tool("2")],
      broken: [user(), asks(call("1"), call("2")), tool("1"), tool("2"), tool("1"), tool("2")],
    },
    {
      name: "langchain#34609: the kept messages start in the middle of ten results",
      rule: "common-05",
      wire: [
        ...story,
        asks(...Array.from({ length: 10 }, (_, n) => call(`${n}`))),
        ...Array.from({ length: 10 }, (_, n) => tool(`${n}`, long)),
      ],
      broken: [tool("4"), tool("5"), user()],
      stages: [foldForUser],
    },
    {
      name: "langchain#34282: a call is summed up and its result stays behind the summary",
      rule: "common-01",
      wire: [...story, asks(call("1")), tool("1"), says("done"), user("next")],
      broken: [user("Summary."), tool("1"), says("done"), user("next")],
      stages: [fold],
    },
    {
      name: "litellm#4931: a result without any call",
      rule: "openai-chat-28",
      wire: [user(), says("x"), tool("lost"), user()],
      broken: [user(), says("x"), tool("lost"), user()],
    },
    {
      name: "litellm#10696: one of two calls is not answered",
      rule: "openai-chat-29",
      wire: [user(), asks(call("1"), call("2")), tool("1"), user("go on")],
      broken: [user(), asks(call("1"), call("2")), tool("1"), user("go on")],
      expectSent: (sent) => expect(sent).toContain("[Tool result not available]"),
    },
    {
      name: "letta#935: the window is shorter than one result",
      rule: "common-05",
      wire: [user(), asks(call("1")), tool("1", long.repeat(4))],
      broken: [tool("1", long)],
      stages: [pruneAll, fold],
    },
    {
      name: "opencode filterCompacted: a notice goes between a call and its result",
      rule: "openai-chat-29",
      wire: [user(), asks(call("1")), tool("1"), says("x"), user()],
      broken: [user(), asks(call("1")), user("[notice]"), tool("1"), says("x"), user()],
      stages: [notice(1)],
    },
    {
      name: "hermes-agent#97618: a text of blanks beside calls",
      rule: "common-10",
      wire: [user(), { ...asks(call("1")), content: "\n" }, tool("1")],
      broken: [user(), { ...asks(call("1")), content: "\n" }, tool("1")],
    },
    {
      name: "late-cli#52: control characters in a result",
      rule: "common-12",
      wire: [user(), asks(call("1")), tool("1", "\x1b[2J\x07done")],
      broken: [user(), asks(call("1")), tool("1", "\x1b[2J\x07done")],
    },
    {
      name: "claude-code#70618: half a surrogate pair behind an escape in the arguments",
      rule: "common-11",
      wire: [user(), asks(call("1", '{"text":"\\ud83d"}')), tool("1")],
      broken: [user(), asks(call("1", '{"text":"\\ud83d"}')), tool("1")],
    },
    {
      name: "dotcraft#260: a turn of a tool loop loses its reasoning_content",
      rule: "openai-chat-31",
      wire: [
        user(),
        { ...asks(call("1")), reasoning_content: "hm" },
        tool("1", long),
        { ...asks(call("2")), reasoning_content: "" },
        tool("2"),
      ],
      broken: [
        user(),
        { ...asks(call("1")), reasoning_content: "hm" },
        tool("1"),
        asks(call("2")),
        tool("2"),
      ],
      stages: [fold],
    },
    {
      name: "inspect_ai#3475: the conversation ends with an answer",
      rule: "common-08",
      wire: [...story, says("done")],
      broken: [user("Summary."), says("done")],
      stages: [hide(2)],
    },
    {
      name: "pulse-agent#346: the only question is hidden",
      rule: "common-09",
      wire: [user(), says("a"), says("b")],
      broken: [says("a"), says("b")],
      stages: [hide(0)],
    },
  ];

  it.each(regressions.map((regression) => [regression.name, regression] as const))("%s", (_, regression) => {
    expectNoRegression(openaiChat, regression);
  });

  it("hermes-agent#27344: a result that was text stays text when it is cleared or cut", () => {
    const wire = [
      ...story,
      asks(call("1")),
      tool("1", long),
      says("x"),
      user("next"),
      says("y"),
      user("more"),
    ];
    const { edits } = runStages(openaiChat.decode(wire), [pruneAll], { at });
    const after = openaiChat.apply(wire, edits, { at });
    expect(JSON.stringify(after)).toContain("[Old tool result content cleared]");
    expect(findOpenAIChatFaults(after, { vendor: "strict" })).toEqual([]);
    expect(
      findOpenAIChatFaults(wire.with(4, tool("1", [{ type: "text", text: "x" }])), { vendor: "strict" }),
    ).toMatchObject([{ rule: "openai-chat-30" }]);
  });
});

describe("breakages that were reported for the Responses API", () => {
  const user = (text = "go") => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });
  const says = (text: string, id?: string) => ({
    type: "message",
    role: "assistant",
    ...(id !== undefined && { id, status: "completed" }),
    content: [{ type: "output_text", text, annotations: [] }],
  });
  const call = (callId: string, id?: string) => ({
    type: "function_call",
    ...(id !== undefined && { id, status: "completed" }),
    call_id: callId,
    name: "read",
    arguments: '{"path":"a.ts"}',
  });
  const output = (callId: string, text = "ok") => ({
    type: "function_call_output",
    call_id: callId,
    output: text,
  });
  const reasoning = (id: string, more: object = {}) => ({
    type: "reasoning",
    id,
    summary: [],
    encrypted_content: `sealed-${id}`,
    ...more,
  });
  const story = [user("build it"), reasoning("rs_0"), says(long, "msg_0"), user("and test it")];

  const regressions: readonly Regression[] = [
    {
      name: "langchainjs#9740: the calls are summed up, their outputs stay",
      rule: "openai-responses-33",
      wire: [
        ...story,
        call("1", "fc_1"),
        call("2", "fc_2"),
        output("1", long),
        output("2"),
        says("done", "msg_1"),
        user("next"),
      ],
      broken: [user("Summary."), output("2"), says("done", "msg_1"), user("next")],
      stages: [fold],
    },
    {
      name: "pi-smart-compact#13: what is kept starts with an output",
      rule: "common-05",
      wire: [...story, reasoning("rs_1"), call("1", "fc_1"), output("1", long)],
      broken: [output("1"), user("Summary.")],
      stages: [foldForUser],
    },
    {
      name: "pi transform-messages: a call that was interrupted has no output",
      rule: "openai-responses-33",
      wire: [user(), reasoning("rs_1"), call("1", "fc_1"), user("are you there?")],
      broken: [user(), reasoning("rs_1"), call("1", "fc_1"), user("are you there?")],
    },
    {
      name: "openai-agents-python#1611: reasoning stays and the call behind it goes",
      rule: "openai-responses-34",
      wire: [user(), reasoning("rs_1"), call("1", "fc_1"), output("1"), says("done", "msg_1"), user("next")],
      broken: [user(), reasoning("rs_1"), user("next")],
      stages: [hidePart(1, 1)],
    },
    {
      name: "coder/xum#59: a turn that was broken off right behind its reasoning",
      rule: "openai-responses-34",
      wire: [user(), reasoning("rs_1"), user("stop")],
      broken: [user(), reasoning("rs_1"), user("stop")],
    },
    {
      name: "vercel/ai#7543: reasoning is named that was never stored",
      rule: "openai-responses-36",
      wire: {
        store: false,
        input: [
          user(),
          reasoning("rs_1", { encrypted_content: undefined }),
          says("x", "msg_1"),
          user("next"),
        ],
      },
      broken: {
        store: false,
        input: [
          user(),
          reasoning("rs_1", { encrypted_content: undefined }),
          says("x", "msg_1"),
          user("next"),
        ],
      },
    },
    {
      name: "zed#60132: an item is referred to that was never stored",
      rule: "openai-responses-36",
      wire: { store: false, input: [user(), { type: "item_reference", id: "rs_1" }, user("next")] },
      broken: { store: false, input: [user(), { type: "item_reference", id: "rs_1" }, user("next")] },
    },
    {
      name: "pi: call ids of 450 characters from another vendor",
      rule: "openai-responses-38",
      wire: [user(), call("c".repeat(450)), output("c".repeat(450))],
      broken: [user(), call("c".repeat(450)), output("c".repeat(450))],
    },
    {
      name: "vercel/ai: an item is there twice",
      rule: "openai-responses-38",
      wire: [user(), says("x", "msg_1"), user("again"), says("x", "msg_1"), user("next")],
      broken: [user(), says("x", "msg_1"), user("again"), says("x", "msg_1"), user("next")],
    },
    {
      name: "pydantic-ai#7224: items before a compaction are billed again",
      rule: "openai-responses-39",
      wire: [user(), says("x"), { type: "compaction", encrypted_content: "sealed" }, user("next")],
      broken: [user(), says("x"), { type: "compaction", encrypted_content: "sealed" }, user("next")],
      stages: [hide(0, 1)],
    },
  ];

  it.each(regressions.map((regression) => [regression.name, regression] as const))("%s", (_, regression) => {
    expectNoRegression(openaiResponses, regression);
  });

  it.each([
    {
      name: "openai-agents-python#2727: a message whose reasoning is hidden loses its id",
      item: says("x", "msg_1"),
    },
    { name: "openai/codex#13497: a call whose reasoning is hidden loses its id", item: call("1", "fc_1") },
  ])("$name", ({ item }) => {
    const wire = [
      user(),
      reasoning("rs_1"),
      item,
      ...(item.type === "message" ? [] : [output("1")]),
      user("next"),
    ];
    const { edits } = runStages(openaiResponses.decode(wire), [hidePart(1, 0)], { at });
    const after = openaiResponses.apply(wire, edits, { at });
    expect(JSON.stringify(after)).not.toContain("rs_1");
    expect(findOpenAIResponsesEditFaults(wire, after)).toEqual([]);
    expect(findOpenAIResponsesEditFaults(wire, wire.toSpliced(1, 1))).toMatchObject([
      { rule: "openai-responses-35" },
    ]);
  });

  it("openclaw REPLAY_INVALID: redaction and repair leave encrypted content alone", () => {
    const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
    const wire = [
      user(secret),
      reasoning("rs_1", { encrypted_content: `${secret}\0` }),
      says(secret, "msg_1"),
      user("x\0"),
    ];
    const { edits, transcript } = runStages(openaiResponses.decode(wire), [redactTranscript()], { at });
    const after = openaiResponses.apply(wire, [...edits, ...repairPairing(transcript)], { at });
    expect(findOpenAIResponsesEditFaults(wire, after)).toEqual([]);
    expect(JSON.stringify(after).split(secret)).toHaveLength(2);
  });
});
