import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import type { AiSdkMessage, AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import { createRequestRecognizer } from "./recognize-request.ts";

const user = (text: string): AiSdkMessage => ({ role: "user", content: [{ type: "text", text }] });
const answer = (text: string): AiSdkMessage => ({ role: "assistant", content: [{ type: "text", text }] });
const step = (name: string): AiSdkMessage[] => [
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: name, toolName: "read", input: { path: name } }],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: name, toolName: "read", output: { type: "text", value: name } },
    ],
  },
];
const system = (content: string): AiSdkMessage => ({ role: "system", content });
const tools = (...names: readonly string[]) => names.map((name) => ({ type: "function", name }));

const SYSTEM = "You are the assistant of a shop that sells bicycles. Be kind, be brief. Today is day ";
const TITLE = "Write a title of at most five words for a chat that begins with this message.";
const TOOLS = tools("search", "order", "recall");

describe("a request belongs to the conversation", () => {
  const history = [user("Hello."), answer("Hi."), user("Which bike?"), ...step("a"), answer("The red one.")];
  const from = (first: AiSdkWire, sent: AiSdkWire = first) => {
    const recognizer = createRequestRecognizer(() => sent);
    recognizer.isOwn({ prompt: [system(SYSTEM), ...first], tools: TOOLS });
    return recognizer;
  };

  it.each<{ name: string; prompt: AiSdkWire; tools?: readonly unknown[] }>([
    { name: "goes on", prompt: [system(SYSTEM), ...history, user("Why?")], tools: TOOLS },
    { name: "is sent again", prompt: [system(SYSTEM), ...history], tools: TOOLS },
    {
      name: "goes on with another system prompt and other tools",
      prompt: [system(TITLE), ...history, user("Why?")],
    },
    { name: "answers again", prompt: [system(SYSTEM), ...history.slice(0, 3)], tools: TOOLS },
    {
      name: "answers the first message again",
      prompt: [system(SYSTEM), ...history.slice(0, 1)],
      tools: TOOLS,
    },
    {
      name: "edits a message",
      prompt: [system(SYSTEM), ...history.slice(0, 2), user("Which car?")],
      tools: TOOLS,
    },
    { name: "edits the first message", prompt: [system(SYSTEM), user("Good morning.")], tools: TOOLS },
    {
      name: "edits the first message on another day",
      prompt: [system(`${SYSTEM}2`), user("Good morning.")],
      tools: TOOLS,
    },
    {
      name: "leaves out old messages",
      prompt: [system(SYSTEM), ...history.slice(2), user("Why?")],
      tools: TOOLS,
    },
    {
      name: "leaves out old messages and has another system prompt and tools",
      prompt: [system(TITLE), ...history.slice(2), user("Why?")],
    },
    {
      name: "marks its newest message for the cache",
      prompt: [
        system(SYSTEM),
        ...history.slice(0, -1),
        { ...answer("The red one."), providerOptions: { a: 1 } },
      ],
      tools: TOOLS,
    },
  ])("that $name", ({ prompt, tools: own }) => {
    expect(from(history).isOwn({ prompt, ...(own && { tools: own }) })).toBe(true);
  });

  it("that goes on with what was sent in place of all messages", () => {
    const sent = [user("What did we do so far?"), answer("We chose the red one.")];
    expect(from(history, sent).isOwn({ prompt: [system(TITLE), ...sent, user("Why?")] })).toBe(true);
  });

  it.each([
    {
      block: "Anthropic's",
      part: {
        type: "text",
        text: "We chose the red one.",
        providerOptions: { anthropic: { type: "compaction" } },
      },
    },
    { block: "OpenAI's", part: { type: "custom", kind: "openai.compaction" } },
  ])("that begins with $block compaction, with neither system prompt nor tools", ({ part }) => {
    const recognizer = createRequestRecognizer(() => history);
    expect(recognizer.isOwn({ prompt: history })).toBe(true);
    const kept: AiSdkWire = [{ role: "assistant", content: [part] }, user("And the price?")];
    expect(recognizer.isOwn({ prompt: kept })).toBe(true);
    expect(recognizer.isOwn({ prompt: [...kept, answer("900."), user("Why?")] })).toBe(true);
  });

  it("that is one with answers where the first was a single question", () => {
    const recognizer = createRequestRecognizer(() => []);
    expect(recognizer.isOwn({ prompt: [system(TITLE), user("Hello.")] })).toBe(true);
    expect(recognizer.isOwn({ prompt: [system(SYSTEM), user("Good morning.")], tools: TOOLS })).toBe(false);
    const begun = [system(SYSTEM), user("Good morning."), ...step("b")];
    expect(recognizer.isOwn({ prompt: begun, tools: TOOLS })).toBe(true);
    expect(recognizer.isOwn({ prompt: [system(TITLE), user("Hello.")] })).toBe(false);
  });

  it("that comes after a check, where there is something to restore", () => {
    const recognizer = createRequestRecognizer(() => [], "resumed");
    expect(recognizer.isOwn({ prompt: [system("Is this about bikes?"), user("Why?")] })).toBe(false);
    expect(recognizer.isBegun()).toBe(false);
    expect(recognizer.isOwn({ prompt: [system(SYSTEM), ...history, user("Why?")] })).toBe(true);
    expect(recognizer.isBegun()).toBe(true);
  });

  it("that began with one question and goes on after a sub-agent was taken for it", () => {
    const recognizer = createRequestRecognizer(() => []);
    const task = [system("You search."), user("Find red ones.")];
    recognizer.isOwn({ prompt: [user("Hello.")] });
    expect(recognizer.isOwn({ prompt: task })).toBe(false);
    recognizer.isOwn({ prompt: [...task, ...step("x")] });
    expect(recognizer.isOwn({ prompt: [user("Hello."), ...step("a")] })).toBe(true);
    expect(recognizer.isOwn({ prompt: [...task, ...step("x"), ...step("y")] })).toBe(false);
    expect(recognizer.isOwn({ prompt: [user("Hello."), ...step("a"), ...step("b")] })).toBe(true);
  });

  it("that goes on in another line in which the user speaks again", () => {
    const recognizer = from(history);
    const first = [user("Something else.")];
    expect(recognizer.isOwn({ prompt: first })).toBe(false);
    expect(recognizer.isOwn({ prompt: [...first, ...step("c")] })).toBe(false);
    expect(recognizer.isOwn({ prompt: [...first, ...step("c"), answer("So."), user("And?")] })).toBe(true);
  });
});

describe("a request does not belong to the conversation", () => {
  const history = [
    user("Hello."),
    answer("Go on."),
    user("Which bike?"),
    ...step("a"),
    answer("The red one."),
  ];
  it.each<{ name: string; prompt: AiSdkWire; tools?: readonly unknown[] }>([
    { name: "asks for a title of the first message", prompt: [system(TITLE), user("Hello.")] },
    { name: "asks for a title in one prompt", prompt: [user("Give a title to: Hello. Go on. Which bike?")] },
    {
      name: "is of a sub-agent",
      prompt: [system("You search."), user("Find red ones.")],
      tools: tools("web"),
    },
    {
      name: "is of a sub-agent with the same tools",
      prompt: [system("You search."), user("Find.")],
      tools: TOOLS,
    },
    {
      name: "is a step of a sub-agent",
      prompt: [system("You search."), user("Find red ones."), ...step("x"), ...step("y")],
      tools: tools("web"),
    },
    {
      name: "says by chance what was said before",
      prompt: [system("You search."), user("Find."), answer("Go on."), user("Yes.")],
      tools: tools("web"),
    },
    {
      name: "is of a sub-agent whose provider compacted",
      prompt: [
        system("You search."),
        { role: "assistant", content: [{ type: "custom", kind: "openai.compaction" }] },
        user("Find more."),
      ],
      tools: tools("web"),
    },
    {
      name: "has the same system prompt, no tools and another question",
      prompt: [system(SYSTEM), user("Title?")],
    },
  ])("that $name", ({ prompt, tools: own }) => {
    const recognizer = createRequestRecognizer(() => history);
    recognizer.isOwn({ prompt: [system(SYSTEM), ...history], tools: TOOLS });
    expect(recognizer.isOwn({ prompt, ...(own && { tools: own }) })).toBe(false);
    expect(recognizer.isOwn({ prompt: [system(SYSTEM), ...history, user("Why?")], tools: TOOLS })).toBe(true);
  });
});

/** What an app does with its history between two requests. */
type Change =
  | { readonly type: "turn" | "loop" | "again" | "first" | "system" | "marks" }
  | { readonly type: "edit" | "trim"; readonly at: number };

const anyChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("turn", "loop").map((type) => ({ type })) },
  fc.constantFrom("again", "first", "system", "marks").map((type) => ({ type })),
  fc.record({ type: fc.constantFrom("edit", "trim"), at: fc.nat(50) }),
) as fc.Arbitrary<Change>;

describe("whatever an app does with its history", () => {
  it("its requests are its own, and those of titles and sub-agents in between are not", () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 25 }), fc.infiniteStream(fc.nat(5)), (changes, others) => {
        let messages: readonly AiSdkMessage[] = [user("message 0")];
        let day = 0;
        let count = 0;
        const recognizer = createRequestRecognizer(() => messages);
        const isOwn = () =>
          recognizer.isOwn({ prompt: [system(`${SYSTEM}${day}`), ...messages], tools: TOOLS });
        expect(isOwn()).toBe(true);
        for (const change of changes) {
          count++;
          messages = changed(messages, change, count);
          if (change.type === "system") day++;
          expect(isOwn()).toBe(true);
          const loop = Array.from({ length: others.next().value }, (_, at) => step(`other ${count} ${at}`));
          const prompt = [system("You search."), user(`task ${count}`), ...loop.flat()];
          expect(recognizer.isOwn({ prompt, tools: tools("web") })).toBe(false);
          const [first = user("")] = messages;
          expect(recognizer.isOwn({ prompt: [system(TITLE), first] })).toBe(false);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

function changed(messages: readonly AiSdkMessage[], change: Change, count: number): readonly AiSdkMessage[] {
  const turns = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  switch (change.type) {
    case "turn":
      return [...messages, answer(`answer ${count}`), user(`message ${count}`)];
    case "loop":
      return [...messages, ...step(`step ${count}`)];
    case "again":
      return messages.slice(0, (turns.at(-1) ?? 0) + 1);
    case "first":
      return [user(`message ${count}`)];
    case "edit": {
      const at = turns[change.at % turns.length] ?? 0;
      return [...messages.slice(0, at), user(`edited ${count}`)];
    }
    case "trim":
      return messages.slice(turns[change.at % turns.length] ?? 0);
    case "marks":
      return messages.map((message) => ({ ...message, providerOptions: { acme: { mark: count } } }));
    default:
      return messages;
  }
}
