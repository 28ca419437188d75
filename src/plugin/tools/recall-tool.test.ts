import { describe, expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import type { HostAnswer } from "../../hosts/opencode/host-calls.ts";
import { type RecallSource, recall as recallContent } from "../../session/recall.ts";
import { createForks } from "../forks/forks.ts";
import type { RunningTool } from "../host/agent-host.ts";
import { createRecallTool } from "./recall-tool.ts";

const CALL: RunningTool = {
  sessionId: "ses_1",
  callId: "call_1",
  agent: "build",
  signal: new AbortController().signal,
  setTitle: () => {},
  mayStart: async () => ({ status: "allowed" }),
};

async function recall(args: unknown, answer: HostAnswer): Promise<string> {
  const { context } = createTestContext({ answer });
  await context.outputs.put("The whole text.");
  const tool = createRecallTool({ context, forks: createForks(context) });
  return (await tool.execute(args, CALL)) as string;
}

const BUSY: HostAnswer = { status: "failed", code: "no-answer", reason: "the host is busy" };
const EMPTY: HostAnswer = { status: "ok", body: [] };

it.each([{ handle: "msg_9/0" }, { search: "port" }])(
  "does not say that nothing is kept while the conversation cannot be read: %j",
  async (args) => {
    expect(await recall(args, BUSY)).toContain("could not be read now (the host is busy)");
    expect(await recall(args, EMPTY)).toMatch(/Nothing/);
  },
);

it("gives a saved output also while the conversation cannot be read", async () => {
  const { context } = createTestContext();
  const stored = await context.outputs.put("The whole text.");
  if (stored.status === "failed") throw new Error(stored.reason);
  expect(await recall({ handle: stored.handle }, BUSY)).toContain("The whole text.");
});

it("reads a saved output without asking for the conversation, and normalises it", async () => {
  let calls = 0;
  const { context } = createTestContext({
    calls: {
      async call() {
        calls += 1;
        return EMPTY;
      },
    },
  });
  const stored = await context.outputs.put("\u001b[31mred\u001b[0m text");
  if (stored.status === "failed") throw new Error(stored.reason);
  const tool = createRecallTool({ context, forks: createForks(context) });
  expect(await tool.execute({ handle: stored.handle }, CALL)).toBe("red text");
  expect(calls).toBe(0);
});

it("gives characters of one long line, says where to read on, and what there is beyond the end", async () => {
  const { context } = createTestContext();
  const line = Array.from({ length: 3_000 }, (_, index) => `${index},`).join("");
  const stored = await context.outputs.put(line);
  if (stored.status === "failed") throw new Error(stored.reason);
  const tool = createRecallTool({ context, forks: createForks(context) });
  const read = async (range: string): Promise<string> =>
    (await tool.execute({ handle: stored.handle, range }, CALL)) as string;
  expect(await read("c100-120")).toBe(line.slice(100, 120));
  const long = await read("c50-");
  const next = Number(/^\[characters 50 to (\d+) of \d+; read on from character \1\]\n/.exec(long)?.[1]);
  expect(long.slice(long.indexOf("\n") + 1)).toBe(line.slice(50, next));
  expect(next).toBeGreaterThan(7_000);
  expect(await read("2-")).toBe(
    `Nothing is in the range 2-: the text has 1 line, ${line.length} characters.`,
  );
});

it("a search with a handle looks into what the handle names, and says when it is not there", async () => {
  const { context } = createTestContext();
  const lines = Array.from({ length: 30_000 }, (_, index) => `line ${index}`);
  const stored = await context.outputs.put(lines.join("\n"));
  if (stored.status === "failed") throw new Error(stored.reason);
  const { handle } = stored;
  const tool = createRecallTool({ context, forks: createForks(context) });
  const read = async (args: unknown): Promise<string> => (await tool.execute(args, CALL)) as string;
  expect(await read({ handle, search: "line 12345" })).toMatch(/12346.*line 12345/);
  expect(await read({ handle, search: "Kassiopeia" })).toContain(
    `Nothing under "${handle}" holds "Kassiopeia"`,
  );
  expect(await read({ handle, search: "line 12345", range: "7-7" })).toBe("line 6\n");
});

it("the beginning of a handle is enough also when the agent has summed up the call and shows it no more", async () => {
  const { context } = createTestContext({ answer: { status: "ok", body: [] } });
  const stored = await context.outputs.put("The whole text.");
  const other = await context.outputs.put("A text of another conversation.");
  if (stored.status === "failed" || other.status === "failed") throw new Error("not stored");
  const entry = { type: "tool-output", tool: "bash", callId: "c", by: "lines", shownChars: 1, totalChars: 2 };
  context.record("ses_1", { ...entry, handle: stored.handle });
  context.record("ses_2", { ...entry, handle: other.handle });
  const tool = createRecallTool({ context, forks: createForks(context) });
  const read = (handle: string) => tool.execute({ handle }, CALL);
  await expect.poll(() => read(stored.handle.slice(0, 6))).toBe("The whole text.");
  expect(await read(other.handle.slice(0, 6))).toContain("Nothing is kept under");
});

it("a search finds an output that was trimmed a moment ago, before the agent has written its message down", async () => {
  const { context } = createTestContext({ answer: { status: "ok", body: [] } });
  const stored = await context.outputs.put("first\nKassiopeia is in the middle\nlast");
  if (stored.status === "failed") throw new Error("not stored");
  const entry = { type: "tool-output", tool: "bash", callId: "c", by: "lines", shownChars: 1, totalChars: 2 };
  context.record("ses_1", { ...entry, handle: stored.handle });
  const tool = createRecallTool({ context, forks: createForks(context) });
  await expect
    .poll(() => tool.execute({ search: "Kassiopeia" }, CALL))
    .toMatch(/2: Kassiopeia is in the middle/);
});

describe("the beginning of a handle, as it is shown to people", () => {
  const TEXTS = Array.from({ length: 8 }, (_, number) => `The whole text ${number}.`);

  /** A conversation in which each text was cut and is named by its handle. */
  async function createConversation() {
    let body: readonly unknown[] = [];
    const { context } = createTestContext({
      calls: {
        call: async (_, path) => ({ status: "ok", body: path.endsWith("/message") ? body : { id: "ses_1" } }),
      },
    });
    const handles: string[] = [];
    for (const text of TEXTS) {
      const stored = await context.outputs.put(text);
      if (stored.status === "stored") handles.push(stored.handle);
    }
    body = handles.map((handle, number) => ({
      info: { id: `msg_${number}`, role: "assistant" },
      parts: [
        {
          type: "tool",
          callID: `call_${number}`,
          tool: "bash",
          state: { status: "completed", input: {}, output: "cut", metadata: { carryover: { handle } } },
        },
      ],
    }));
    await context.outputs.put("A text of another conversation.");
    const tool = createRecallTool({ context, forks: createForks(context) });
    const recall = async (handle: string): Promise<string> =>
      (await tool.execute({ handle }, CALL)) as string;
    return { context, handles, recall };
  }

  it("is enough where only one begins so, also with the dots behind it", async () => {
    const { handles, recall } = await createConversation();
    const [first = ""] = handles;
    const start = first.slice(0, 12);
    for (const given of [first, start, `${start}…`, `${start}...`, ` ${start} `])
      expect(await recall(given)).toBe(TEXTS[0]);
  });

  it("names the handles where several begin so, and gives nothing for fewer than four characters", async () => {
    const { context, handles } = await createConversation();
    const twin = `${handles[0]?.slice(0, 63)}${handles[0]?.endsWith("0") ? "1" : "0"}`;
    const known = [...handles, twin];
    const source: RecallSource = {
      messages: () => ({ find: () => undefined, list: () => [] }),
      saved: (handle) => context.outputs.get(handle),
      savedHandles: () => known,
      hidden: () => [],
    };
    const options = { maxChars: 100, range: undefined, redact: undefined };
    const start = twin.slice(0, 12);
    expect(await recallContent(source, start, options)).toMatchObject({
      status: "missing",
      candidates: [handles[0], twin],
      hint: expect.stringContaining(`2 handles begin with ${start}: ${handles[0]}, ${twin}.`),
    });
    for (const given of [twin.slice(0, 3), "", "…", "msg_", "feed".repeat(20)])
      expect(await recallContent(source, given, options)).toMatchObject({ status: "missing" });
  });

  it("finds nothing of another conversation", async () => {
    const { context, recall } = await createConversation();
    const other = await context.outputs.put("A text of another conversation.");
    if (other.status === "failed") throw new Error(other.reason);
    expect(await recall(other.handle.slice(0, 12))).toContain("Nothing is kept under");
  });
});
