import { describe, expect, it } from "vitest";
import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import {
  BINDING_BETA,
  bindsThinking,
  createThinkingCheck,
  isThought,
  type TakenRequest,
  type ThinkingCheck,
  type ThinkingRead,
} from "./bound-thinking.ts";

interface Body extends UnknownObject {
  model: string;
  system: unknown;
  tools: UnknownObject[];
  messages: { role: string; content: string | UnknownObject[]; [field: string]: unknown }[];
}

const text = (words: string): UnknownObject => ({ type: "text", text: words });
const thought = (): UnknownObject => ({ type: "thinking", thinking: "" });
const use = (id: string, input: UnknownObject = {}): UnknownObject => ({
  type: "tool_use",
  id,
  name: "read",
  input,
});
const result = (id: string, content = "out"): UnknownObject => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
const binding = (behavior: string) => ({
  thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: behavior } },
});
const beta = { beta: BINDING_BETA };

function talk(): Body {
  return {
    model: "claude-opus-5-5",
    system: "You are S.",
    tools: [{ name: "read", input_schema: { type: "object" } }],
    messages: [{ role: "user", content: "go" }],
  };
}

function taken(read: ThinkingRead): TakenRequest {
  if (read.status === 400) throw new Error(read.error.error.message);
  return read;
}

/** Lets the model answer. */
function answer(check: ThinkingCheck, body: Body, content: readonly UnknownObject[], asked = {}): void {
  body.messages.push({ role: "assistant", content: check.sign(taken(check.read(body, asked)), content) });
}

/** A tool loop: in each step a thought, a text and a call, and then its result. */
function loop(check: ThinkingCheck, steps: number, body = talk()): Body {
  for (let step = 0; step < steps; step++) {
    const id = `c${body.messages.length}`;
    answer(check, body, [thought(), text(`step ${step}`), use(id, { path: `f${step}` })]);
    body.messages.push({ role: "user", content: [result(id, `output ${step}`)] });
  }
  return body;
}

/** The blocks of a message of several. */
function blocks(body: Body, index: number): Record<string, unknown>[] {
  return body.messages[index]?.content as Record<string, unknown>[];
}

function block(body: Body, index: number, part: number): Record<string, unknown> {
  return blocks(body, index)[part] ?? {};
}

function changed(body: Body, change: (copy: Body) => unknown): Body {
  const copy = structuredClone(body);
  change(copy);
  return copy;
}

/** Without the thoughts of these answers. */
function without(body: Body, ...answers: readonly number[]): Body {
  return changed(body, ({ messages }) => {
    for (const [index, message] of messages.filter(({ role }) => role === "assistant").entries())
      if (answers.includes(index))
        message.content = (message.content as UnknownObject[]).filter((each) => !isThought(each));
  });
}

function thoughtsIn(body: UnknownObject): number {
  return asArray(body.messages).flatMap((message) =>
    asArray(asObject(message).content).filter((each) => isThought(asObject(each))),
  ).length;
}

const refusalOf = (read: ThinkingRead): string =>
  read.status === 400 ? read.error.error.message : "(taken)";

describe("the check of bound thinking", () => {
  it("takes a conversation that only grows, whatever its cache marks, parameters, order of keys and form of a text", () => {
    const check = createThinkingCheck();
    const body = loop(check, 5);
    const same = changed(body, (copy) => {
      Object.assign(copy, { max_tokens: 9, tool_choice: { type: "none" }, output_config: { effort: "low" } });
      copy.system = [{ ...text("You are S."), cache_control: { type: "ephemeral" } }];
      copy.tools.push({ name: "later", defer_loading: true, input_schema: {} });
      Object.assign(copy.messages[0] ?? {}, {
        content: [{ text: "go", cache_control: { type: "ephemeral", ttl: "1h" }, type: "text" }],
      });
      block(copy, 2, 0).content = [text("output 0")];
    });
    expect([check.read(body).status, check.read(same).status]).toEqual([200, 200]);
  });

  it.each<[string, (body: Body) => unknown]>([
    ["a result that was cleared", (body) => Object.assign(block(body, 2, 0), { content: "[cleared]" })],
    ["another input of a call", (body) => Object.assign(block(body, 1, 2), { input: { path: "x" } })],
    ["white space", (body) => Object.assign(body.messages[0] ?? {}, { content: "go " })],
    ["another system prompt", (body) => Object.assign(body, { system: "You are T." })],
    ["another description of a tool", (body) => Object.assign(body.tools[0] ?? {}, { description: "x" })],
    ["a tool more", (body) => body.tools.push({ name: "new", input_schema: {} })],
    ["a text more", (body) => blocks(body, 4).push(text("reminder"))],
    ["messages taken out", (body) => body.messages.splice(1, 2)],
  ])("refuses %s before a thought", (_, change) => {
    const check = createThinkingCheck();
    const words = refusalOf(check.read(changed(loop(check, 5), change)));
    expect(words).toMatch(
      /^messages\.\d+\.content\.0: Invalid `signature` in `thinking` block\. The block is bound to a different conversation\. Remove the block, or set `thinking\.block_binding\.prefix_mismatch_behavior` to "drop_block"\. That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header\./,
    );
  });

  it("takes another newest result, which was never answered", () => {
    const check = createThinkingCheck();
    const body = changed(loop(check, 5), (copy) => Object.assign(block(copy, 10, 0), { content: "other" }));
    expect(check.read(body).status).toBe(200);
  });

  it("refuses parallel results in another order", () => {
    const check = createThinkingCheck();
    const body = talk();
    answer(check, body, [thought(), use("a"), use("b")]);
    body.messages.push({ role: "user", content: [result("a"), result("b")] });
    answer(check, body, [thought(), text("done")]);
    body.messages.push({ role: "user", content: "next" });
    expect(check.read(body).status).toBe(200);
    const swapped = changed(body, (copy) => blocks(copy, 2).reverse());
    expect(check.read(swapped).status).toBe(400);
  });

  it("with drop_block drops the thoughts behind an edit, for as long as the setting is sent; new ones hold", () => {
    const check = createThinkingCheck();
    const body = loop(check, 6);
    block(body, 4, 0).content = "[cleared]";
    Object.assign(body, binding("drop_block"));
    const read = taken(check.read(body, beta));
    const lost = [5, 7, 9, 11].map((index) => `messages.${index}.content.0`);
    expect(read.inputTransformations?.map(({ path }) => path)).toEqual(lost);
    expect(thoughtsIn(read.body)).toBe(2);
    answer(check, body, [thought(), text("new")], beta);
    body.messages.push({ role: "user", content: "more" });
    const again = taken(check.read(body, beta));
    expect([again.dropped.length, thoughtsIn(again.body)]).toEqual([4, 3]);
    const unset = changed(body, (copy) => Object.assign(copy, { thinking: undefined }));
    expect(check.read(unset).status).toBe(400);
    expect(check.read(without(unset, 2, 3, 4, 5)).status).toBe(200);
  });

  it("with drop_block drops the rest of a turn with a thought that does not fit", () => {
    const check = createThinkingCheck();
    const body = loop(check, 2);
    const mixed = changed(body, (copy) => blocks(copy, 3).unshift(block(copy, 1, 0)));
    const read = taken(check.read({ ...mixed, ...binding("drop_block") }, beta));
    expect(read.dropped.map(({ path }) => path)).toEqual(["messages.3.content.0", "messages.3.content.1"]);
  });

  it("refuses the setting without its header, and with thinking that it does not belong to", () => {
    const check = createThinkingCheck();
    expect(refusalOf(check.read({ ...talk(), ...binding("drop_block") }))).toContain("Extra inputs");
    const between = { ...talk(), thinking: { type: "between_tools", block_binding: {} } };
    expect(refusalOf(check.read(between, beta))).toContain("thinking.between_tools.block_binding: Extra");
    expect(refusalOf(check.read({ ...talk(), ...binding("x") }, beta))).toContain("'error' or 'drop_block'");
  });

  it("checks an old account only where the request asks for it, and reports what it let through", () => {
    const check = createThinkingCheck({ account: "old" });
    const body = changed(loop(check, 3), (copy) => Object.assign(block(copy, 2, 0), { content: "x" }));
    expect(check.read(body).status).toBe(200);
    const reported = taken(check.read(body, { beta: `a, ${BINDING_BETA}` })).inputTransformations;
    expect(reported?.map(({ type }) => type)).toEqual(Array(2).fill("thinking_mismatch_allowed"));
    expect(check.read({ ...body, ...binding("error") }, beta).status).toBe(400);
    expect(taken(check.read({ ...body, ...binding("drop_block") }, beta)).dropped).toHaveLength(2);
  });

  it("checks when tokens are counted; a batch drops what does not fit", () => {
    const check = createThinkingCheck();
    const body = changed(loop(check, 3), (copy) => Object.assign(block(copy, 2, 0), { content: "x" }));
    expect(check.read(body, { endpoint: "count_tokens" }).status).toBe(400);
    expect(taken(check.read(body, { endpoint: "batches" })).dropped).toHaveLength(2);
    expect(check.read(body, { isPreserved: false }).status).toBe(200);
  });

  it("refuses a reworded thought", () => {
    const check = createThinkingCheck();
    const body = changed(loop(check, 2), (copy) => Object.assign(block(copy, 1, 0), { thinking: "other" }));
    expect(refusalOf(check.read(body))).toBe("messages.1.content.0: Invalid `signature` in `thinking` block");
  });

  it("refuses a damaged signature always, and drops the thoughts of another model or organization", () => {
    const check = createThinkingCheck();
    const body = loop(check, 2);
    const damaged = changed(body, (copy) => Object.assign(block(copy, 1, 0), { signature: "zz" }));
    expect(refusalOf(check.read({ ...damaged, ...binding("drop_block") }, beta))).toBe(
      "messages.1.content.0: Invalid `signature` in `thinking` block",
    );
    const reasonsOf = (read: ThinkingRead) => taken(read).dropped.map(({ reason }) => reason);
    const other = { ...body, model: "claude-opus-5" };
    expect(reasonsOf(check.read(other))).toEqual(Array(2).fill("model_binding_mismatch"));
    expect(reasonsOf(check.read(body, { organization: "other" }))).toEqual(
      Array(2).fill("organization_binding_mismatch"),
    );
  });

  it("takes thoughts left out from the oldest on or from the newest back; not a gap, nor one put back", () => {
    const check = createThinkingCheck();
    const body = loop(check, 5);
    const statusesOf = (cases: number[][]) =>
      cases.map((answers) => check.read(without(body, ...answers)).status);
    expect(statusesOf([[0], [0, 1], [4], [3, 4], [0, 1, 2, 3, 4], [0, 4]])).toEqual(Array(6).fill(200));
    expect(statusesOf([[1], [2, 3], [0, 2]])).toEqual(Array(3).fill(400));
    const gone = without(body, 0);
    answer(check, gone, [thought(), text("x")]);
    gone.messages.push({ role: "user", content: "y" });
    expect(check.read(gone).status).toBe(200);
    const back = {
      ...gone,
      messages: [...body.messages, ...gone.messages.slice(-2)],
      ...binding("drop_block"),
    };
    expect(taken(check.read(back, beta)).dropped.map(({ path }) => path)).toEqual(["messages.11.content.0"]);
  });

  it("binds redacted thoughts, and several of one answer each to what stands before it", () => {
    const check = createThinkingCheck();
    const body = talk();
    answer(check, body, [{ type: "redacted_thinking" }, text("a"), thought(), use("a")]);
    body.messages.push({ role: "user", content: [result("a")] });
    expect(check.read(body).status).toBe(200);
    const shorter = changed(body, (copy) => blocks(copy, 1).splice(0, 1));
    expect(check.read(shorter).status).toBe(200);
    const damaged = changed(body, (copy) => Object.assign(block(copy, 1, 0), { data: "zz" }));
    expect(check.read(damaged).status).toBe(400);
  });
});

describe("a compaction on demand", () => {
  const check = createThinkingCheck();
  const body = loop(check, 6);
  const sumUp = (given: Body, count: number, how = {}): UnknownObject =>
    check.compact(taken(check.read({ ...given, messages: given.messages.slice(0, count) }, how)), "summary");
  const behind = (block_: UnknownObject, messages: Body["messages"]): Body => ({
    ...body,
    messages: [{ role: "assistant", content: [block_] }, ...messages],
  });

  it.each([6, 7])("lets the kept turns keep their thoughts, cut behind %s messages", (count) => {
    const read = taken(check.read(behind(sumUp(body, count), body.messages.slice(count))));
    expect(thoughtsIn(read.body)).toBe(3);
  });

  it("does so twice, for thoughts from before the first and from after it", () => {
    const once = behind(sumUp(body, 7), body.messages.slice(7));
    const longer = loop(check, 1, structuredClone(once));
    const twice = behind(sumUp(longer, 3), longer.messages.slice(3));
    expect(check.read(twice).status).toBe(200);
    expect(thoughtsIn(twice)).toBe(3);
  });

  it("does not where a turn is left out or put between, the system prompt changes, two turns of one role are parted, or the summary is the client's own", () => {
    const kept = body.messages.slice(7);
    const once = behind(sumUp(body, 7), kept);
    const [summary, ...rest] = once.messages;
    const other = { role: "system", content: "between" };
    const twice = { ...body, messages: [...body.messages, { role: "user", content: "two of one role" }] };
    const longer = loop(check, 1, twice);
    const cases: Body[] = [
      { ...once, messages: [...(summary ? [summary] : []), other, ...rest] },
      { ...once, messages: [...(summary ? [summary] : []), ...rest.slice(2)] },
      { ...once, system: "other" },
      { ...body, messages: [{ role: "user", content: "own summary" }, ...kept] },
      behind(sumUp(body, 7, { isPreserved: false }), kept),
      behind(sumUp(longer, 13), longer.messages.slice(13)),
    ];
    expect(cases.map((each) => check.read(each).status)).toEqual(cases.map(() => 400));
  });
});

it("a compaction at a threshold is where the check begins", () => {
  const check = createThinkingCheck();
  const body = loop(check, 3);
  answer(check, body, [{ type: "compaction", content: "sum" }, thought(), text("on")]);
  body.messages.push({ role: "user", content: "next" });
  const edited = changed(body, (copy) => Object.assign(block(copy, 2, 0), { content: "not looked at" }));
  const reworded = changed(body, (copy) => Object.assign(block(copy, 7, 0), { content: "other" }));
  const cut = { ...body, messages: body.messages.slice(-2) };
  expect([edited, cut, reworded].map((each) => check.read(each).status)).toEqual([200, 200, 400]);
});

it("the newest models of Claude bind their thoughts, older ones and other vendors' do not", () => {
  const binding_ = ["claude-opus-5-5", "claude-sonnet-5-5-20260922", "claude-haiku-5-5", "claude-fable-5-2"];
  const free = ["claude-opus-5", "claude-fable-5-20260101", "claude-sonnet-4-5", "gpt-6.1-sol", "m"];
  expect([...binding_, ...free].filter(bindsThinking)).toEqual(binding_);
});
