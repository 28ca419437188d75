import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentPlugin } from "../../plugin/host/agent-host.ts";
import type { CompactionMoment } from "../../plugin/host/host-parts.ts";
import { opencode2Checkpoints } from "./checkpoints.ts";
import { answerCompactions, type CompactionRequest } from "./compaction.ts";
import { answerInWire, type ProviderWire, wireOf } from "./summary-in-wire.ts";

const PROMPT = "Sum it up.";
const WIRES = [
  {
    wire: "openai-chat",
    path: "/v1/chat/completions",
    body: { model: "m", stream: true, messages: [{ role: "user", content: PROMPT }] },
  },
  {
    wire: "openai-responses",
    path: "/v1/responses",
    body: {
      model: "m",
      stream: true,
      input: [{ role: "user", content: [{ type: "input_text", text: PROMPT }] }],
    },
  },
  {
    wire: "anthropic",
    path: "/v1/messages",
    body: {
      model: "m",
      stream: true,
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "text", text: PROMPT }] }],
    },
  },
] as const;

describe("the wire of a request", () => {
  it.each(WIRES)("is known by address and body: $wire", ({ wire, path, body }) => {
    expect(wireOf(`https://api.example${path}?x=1`, body)).toBe(wire);
    for (const other of WIRES)
      if (other.wire !== wire)
        expect(wireOf(`https://api.example${path}`, { ...other.body, stream: false })).toBe(undefined);
  });

  it.each([
    { url: "https://api.example/v1/models/m:streamGenerateContent", body: { contents: [], stream: true } },
    { url: "https://api.example/model/m/converse-stream", body: { messages: [] } },
    { url: "https://api.example/v1/chat/completions", body: { messages: [], stream: false } },
    { url: "https://api.example/v1/messages", body: { input: [], stream: true } },
    { url: "no address", body: WIRES[0].body },
    { url: "https://api.example/v1/responses", body: null },
  ])("is not guessed: $url", ({ url, body }) => {
    expect(wireOf(url, body)).toBeUndefined();
  });
});

/** A plugin that gives this summary and these texts, and what it was asked. */
function pluginWith(summary: string | undefined, texts: readonly string[] = []) {
  const asked: CompactionMoment[] = [];
  const plugin: Pick<AgentPlugin, "compact" | "beforeCompaction"> = {
    async compact(moment) {
      asked.push(moment);
      return summary === undefined ? undefined : { summary };
    },
    beforeCompaction: async () => texts,
  };
  const reader = { read: async () => [{ role: "user", content: [] }] };
  return { asked, onRequest: answerCompactions({ plugin, reader }) };
}

function requestOf(
  { path, body }: Pick<(typeof WIRES)[number], "path" | "body">,
  fields = {},
): CompactionRequest {
  const request = new Request(`https://api.example${path}`, { method: "POST", body: JSON.stringify(body) });
  const model = { id: "m", providerID: "p" };
  return { sessionID: "ses_1", agent: "compaction", model, request, ...fields };
}

describe("a request for a summary", () => {
  it.each(WIRES)("is answered by the plugin's summary, without leaving: $wire", async (wire) => {
    const { onRequest, asked } = pluginWith("All of it.");
    const event = requestOf(wire);
    await onRequest(event);
    expect(event.request.url).toMatch(/^data:text\/event-stream;base64,/);
    expect(asked).toMatchObject([{ sessionId: "ses_1", model: { provider: "p", id: "m" } }]);
    expect(await asked[0]?.messages()).toHaveLength(1);
    const said = await (await fetch(event.request)).text();
    expect(said).toContain(JSON.stringify("## Additional Context\n\nAll of it.").slice(1, -1));
    expect(said).toMatch(/"(?:prompt|input)_tokens":0/);
  });

  it.each(WIRES)("leaves with what the plugin adds where it has no summary: $wire", async (wire) => {
    const { onRequest } = pluginWith(undefined, ["Keep the pins.", "Fork 1 runs."]);
    const event = requestOf(wire);
    await onRequest(event);
    expect(event.request.url).toBe(`https://api.example${wire.path}`);
    const sent = await event.request.text();
    expect(sent).toBe(
      JSON.stringify(wire.body).replace(PROMPT, `${PROMPT}\\n\\nKeep the pins.\\n\\nFork 1 runs.`),
    );
  });

  it("is left alone where it is none, where nothing is added, and where its wire is not known", async () => {
    for (const [summary, event] of [
      ["All.", requestOf(WIRES[0], { agent: "build" })],
      [undefined, requestOf(WIRES[0])],
      ["All.", requestOf({ ...WIRES[0], path: "/v1/other" as never })],
    ] as const) {
      const { request } = event;
      await pluginWith(summary).onRequest(event);
      expect(event.request).toBe(request);
    }
  });

  it.each(WIRES)("is the way to ask the model something else: $wire", async ({ wire, path, body }) => {
    const bodies: string[] = [];
    const server = createServer(async (incoming, response) => {
      for await (const chunk of incoming) bodies.push(String(chunk));
      const usage = { total_tokens: 12 };
      response.setHeader("content-type", "text/event-stream");
      response.end(answerInWire(wire as ProviderWire, { text: "A summary.", model: "m", atMs: 0, usage }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const request = new Request(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body: JSON.stringify(body),
    });
    const plugin: Pick<AgentPlugin, "compact" | "beforeCompaction"> = {
      async compact({ summarizer }) {
        const request = { system: "You sum up.", prompt: "This.", maxOutputTokens: 7 };
        const { signal } = new AbortController();
        const summary = await summarizer?.summarize(request as never, { signal, onProgress: () => {} });
        return summary === undefined ? undefined : { summary };
      },
      beforeCompaction: async () => [],
    };
    const event = requestOf({ path, body }, { request });
    await answerCompactions({ plugin, reader: { read: async () => [] } })(event);
    expect(bodies.join("")).toContain("You sum up.");
    expect(bodies.join("")).not.toContain(PROMPT);
    const said = await (await fetch(event.request)).text();
    expect(said).toContain("A summary.");
    expect(said).toContain('"total_tokens":12');
  });
});

describe("the host's summary in a request", () => {
  const checkpoint = (text: string) => ({ id: "msg_1", role: "user", content: [{ type: "text", text }] });
  const TEXT =
    "<conversation-checkpoint>\nHistory.\n\n<summary>\n## Additional Context\n\nOurs.\n</summary>\n\n<recent-context>\n[User]: a </summary> b\n</recent-context>\n</conversation-checkpoint>";

  it("is found without our heading, and written without the newest turns as text", () => {
    const messages = [checkpoint(TEXT), checkpoint("Hello."), { ...checkpoint(TEXT), role: "assistant" }];
    const found = opencode2Checkpoints.find(messages);
    expect(found).toEqual([{ index: 0, summary: "Ours." }]);
    const written = opencode2Checkpoints.write(checkpoint(TEXT), "Ours.");
    expect(written).toEqual(
      checkpoint(
        "<conversation-checkpoint>\nHistory.\n\n<summary>\nOurs.\n</summary>\n</conversation-checkpoint>",
      ),
    );
    expect(opencode2Checkpoints.find([written])).toEqual([{ index: 0, summary: "Ours." }]);
  });
});
