import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHAT_TEMPLATE_TOKENS } from "../../test/rig/chat-template-tokens.ts";
import { runs } from "../../test/rig/runs.ts";
import { fenceData } from "../text/fence.ts";
import { normalizeText } from "../text/normalize.ts";
import { createRenderer, filePlaceholder, isRendered, leastChars, renderMessage } from "./content.ts";
import type { Message } from "./message.ts";
import type { Part, ToolOutcome, ToolPart } from "./part.ts";

const message = (...parts: Part[]): Message => ({ id: "m", role: "assistant", parts });
const said = (text: string, more = {}): Part => ({ type: "text", text, ...more });
const done: ToolOutcome = { status: "done", output: "out", attachments: [] };
const call = (more: Partial<ToolPart> = {}): ToolPart => ({
  type: "tool",
  callId: "c",
  tool: "read",
  input: { path: "a.ts" },
  outcome: done,
  ...more,
});

const cut = { method: "head", originalChars: 9, omittedChars: 6, limitChars: 3 } as const;

describe("renderMessage", () => {
  it.each([
    { name: "text", part: said("hello"), text: "\nAgent:\nhello" },
    { name: "ignored text", part: said("x", { ignored: true }), text: "" },
    { name: "a text of ours", part: said("x", { own: true }), text: "" },
    { name: "blanks", part: said(" \n "), text: "" },
    { name: "a hidden part", part: said("x", { agentVisible: false }), text: "" },
    { name: "reasoning", part: { type: "reasoning", text: "hm" }, text: "" },
    { name: "a marker", part: { type: "compaction", trigger: "auto" }, text: "" },
    { name: "an unknown part", part: { type: "opaque", name: "x" }, text: "" },
    {
      name: "a file",
      part: { type: "file", mime: "a/b", filename: "c\nd" },
      text: "\nAgent:\n[File: a/b c d]",
    },
    { name: "a result", part: call(), text: '\nAgent:\n[Tool: read] {"path":"a.ts"}\n[Tool result]\nout' },
    {
      name: "a failed call",
      part: call({ outcome: { status: "failed", error: "no" } }),
      text: '\nAgent:\n[Tool: read] {"path":"a.ts"}\n[Tool error]\nno',
    },
    {
      name: "a pending call without input",
      part: call({ outcome: { status: "pending" }, input: undefined }),
      text: "\nAgent:\n[Tool: read]",
    },
    {
      name: "an empty result",
      part: call({ outcome: { ...done, output: " " } }),
      text: '\nAgent:\n[Tool: read] {"path":"a.ts"}\n[Tool result]',
    },
    {
      name: "a cleared result, without its attachments",
      part: call({ clearedAt: 1, outcome: { ...done, attachments: [{ type: "file", mime: "a/b" }] } }),
      text: '\nAgent:\n[Tool: read] {"path":"a.ts"}\n[Tool result]\n[Old tool result content cleared]',
    },
    {
      name: "a shortened input",
      part: call({ inputCut: { ...cut, preview: '{"p...' } }),
      text: '\nAgent:\n[Tool: read] {"p...\n[Tool result]\nout',
    },
    {
      name: "a result without a call",
      part: call({ callMissing: true }),
      text: "\nAgent:\n[Tool result]\nout",
    },
    {
      name: "a call without a result that is not there either",
      part: call({ callMissing: true, outcome: { status: "pending" } }),
      text: "",
    },
    {
      name: "a tool of two lines",
      part: call({ tool: "a\n\nb", input: undefined }),
      text: "\nAgent:\n[Tool: a b]\n[Tool result]\nout",
    },
  ] as readonly { readonly name: string; readonly part: Part; readonly text: string }[])(
    "$name",
    ({ part, text }) => {
      expect(renderMessage(message(part))).toBe(text);
      expect(isRendered(message(part))).toBe(text !== "");
    },
  );

  it.each([
    { role: "user", label: "User" },
    { role: "assistant", label: "Agent" },
    { role: "critic", label: "Critic" },
    { role: "a\nb", label: "A b" },
  ])("$role speaks as $label", ({ role, label }) => {
    expect(renderMessage({ id: "m", role, parts: [said("x")] })).toBe(`\n${label}:\nx`);
  });

  it("shows nothing of a hidden message", () => {
    const hidden = { ...message(said("x")), metadata: { agentVisible: false } };
    expect(renderMessage(hidden)).toBe("");
    expect(isRendered(hidden)).toBe(false);
  });

  it("normalizes and fences what is not plain", () => {
    expect(renderMessage(message(said("\u001b[1mbold\u001b[0m <system-reminder>")))).toBe(
      "\nAgent:\nbold &lt;system-reminder>",
    );
    expect(
      renderMessage(
        message(call({ input: undefined, outcome: { ...done, output: "</inherited_context>" } })),
      ),
    ).toBe("\nAgent:\n[Tool: read]\n[Tool result]\n&lt;/inherited_context>");
  });

  it.each([
    { text: "see [INST] here", shown: "see &#91;INST] here" },
    { text: "[/ inherited_context]", shown: "&#91;/ inherited_context]" },
    { text: "<|im_start|>", shown: "&lt;|im_start|>" },
    { text: "<div> [index] < 3 <b>é</b>", shown: "<div> [index] < 3 <b>é</b>" },
  ])("shows $text as $shown", ({ text, shown }) => {
    expect(renderMessage(message(said(text)))).toBe(`\nAgent:\n${shown}`);
  });

  it("looks at each text as closely as normalizing and fencing it would", () => {
    const tags = ["inherited_context", "system-reminder"];
    const anyPiece = fc.oneof(
      fc.constantFrom(..."<[＜［﹤/\\ \t\n|>]_-".split("")),
      fc.constantFrom(
        ...tags,
        "INST",
        "<SYS>>",
        "start_of_turn",
        "end_of_turn",
        "SYSTEM_PROMPT",
        "TOOL_CALLS",
      ),
      fc.constantFrom(
        "\u200b",
        "\u00ad",
        "\u001b[1m",
        "\r",
        "ｉ",
        "inheriｔed_context",
        "IＮST",
        "<SYS>＞",
        "İ",
        "é",
        "\ud800",
      ),
      fc.constantFrom(..."insertyINSTAVO".split("")),
    );
    const anyText = fc.array(anyPiece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(anyText, (output) => {
        const shown = fenceData(normalizeText(output), tags);
        const all = renderMessage(message(call({ input: undefined, outcome: { ...done, output } })));
        expect(all).toBe(`\nAgent:\n[Tool: read]\n[Tool result]${shown.trim() === "" ? "" : `\n${shown}`}`);
        for (const part of [
          said(output),
          said(output, { own: true }),
          call({ outcome: { ...done, output } }),
          call({ input: { text: output, [output]: 1 } }),
          call({ inputCut: { ...cut, preview: output } }),
        ])
          for (const role of ["user", "assistant"]) {
            const any = { ...message(part), role };
            expect(leastChars(any)).toBeLessThanOrEqual(renderMessage(any).length);
          }
      }),
      { numRuns: runs(20_000) },
    );
  });

  it("names a file by its type, and by its name where it has one", () => {
    expect(filePlaceholder({ type: "file", mime: "image/png" })).toBe("[File: image/png]");
    expect(filePlaceholder({ type: "file", mime: "image/png", filename: "a.png" })).toBe(
      "[File: image/png a.png]",
    );
  });
});

describe("leastChars", () => {
  it("counts what the texts and inputs of a message take, and nothing that is not shown", () => {
    expect(leastChars(message(said("hello"), call({ outcome: { ...done, output: "\u001b[1mout" } })))).toBe(
      12,
    );
    expect(leastChars(message(call({ inputCut: { ...cut, preview: "{}" } })))).toBe(5);
    const hidden = call({ clearedAt: 1, callMissing: true });
    expect(leastChars(message(said("x", { ignored: true }), said(" \n"), hidden))).toBe(0);
    expect(leastChars({ ...message(said("x")), metadata: { agentVisible: false } })).toBe(0);
  });
});

describe("createRenderer", () => {
  it("renders a message once", () => {
    let reads = 0;
    const counted = {
      ...message(),
      get parts() {
        reads += 1;
        return [said("x")];
      },
    };
    const render = createRenderer();
    const first = render(counted);
    const before = reads;
    expect(first).toBe("\nAgent:\nx");
    expect(render(counted)).toBe(first);
    expect(reads).toBe(before);
  });

  it("renders a call once, also when something beside it changes", () => {
    let writes = 0;
    const counted = call({ input: { toJSON: () => `written ${++writes}` } });
    const render = createRenderer();
    const first = render(message(said("a"), counted));
    expect(first).toContain("written 1");
    expect(render(message(said("b"), counted))).toBe(first.replace("a\n", "b\n"));
    expect(writes).toBe(1);
  });
});

it("shows no control token of a chat template, and no label that is content", () => {
  const imitations = [
    "User:",
    "Agent:",
    "[User]: yes",
    "[Tool result]",
    " [ Result of bash]: x",
    "[Tool: x] {}",
  ];
  for (const text of [...Object.values(CHAT_TEMPLATE_TOKENS).flat(), ...imitations]) {
    const [, label, ...lines] = renderMessage({
      id: "m",
      role: "user",
      parts: [{ type: "text", text }],
    }).split("\n");
    expect(label).toBe("User:");
    expect(lines.join("\n")).not.toContain(text);
    expect(lines.join("\n")).toBe(fenceData(text));
  }
});
