import { afterEach, describe, expect, it } from "vitest";
import { SECURITY_HEADERS } from "../../src/inspector/server/request-guard.ts";
import { type ServedInspector, serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource, type SessionSource } from "../../src/inspector/server/session-source.ts";
import { ask, enter, FAKE_ASSETS, sendRaw, sessionOf, tokenOf } from "./server-support.ts";

const open: ServedInspector[] = [];
afterEach(async () => {
  for (const inspector of open.splice(0)) await inspector.stop();
});

async function serve(source: SessionSource, options: { readonly idleMs?: number } = {}) {
  const inspector = await serveInspector({ source, assets: FAKE_ASSETS, ...options });
  open.push(inspector);
  return inspector;
}

describe("the inspector's server", () => {
  it("gives everything but the messages at once, and those 200 at a time", async () => {
    const { transcript, ...head } = sessionOf(450);
    const inspector = await serve(createFixedSource({ ...head, transcript }));
    const token = await enter(inspector, tokenOf(inspector.invite()));
    expect(await (await ask(inspector, token, "/api/session")).json()).toEqual({ ...head, messages: 450 });
    const pages = [0, 200, 400, 600].map(async (from) => {
      const response = await ask(inspector, token, `/api/messages?from=${from}&count=9999`);
      return (await response.json()) as { readonly from: number; readonly messages: readonly unknown[] };
    });
    const read = await Promise.all(pages);
    expect(read.map(({ from, messages }) => [from, messages.length])).toEqual([
      [0, 200],
      [200, 200],
      [400, 50],
      [600, 0],
    ]);
    expect(read.flatMap(({ messages }) => messages)).toEqual(transcript);
  });

  it.each(["from=-1", "from=x", "count=1e3", "from=0x10", "count=", "from=99999999999"])(
    "refuses %s",
    async (query) => {
      const inspector = await serve(createFixedSource(sessionOf(3)));
      const token = await enter(inspector, tokenOf(inspector.invite()));
      expect((await ask(inspector, token, `/api/messages?${query}`)).status).toBe(400);
    },
  );

  it("has a different one-time token of 256 bits in each address, and each works once", async () => {
    const inspector = await serve(createFixedSource(sessionOf(1)));
    const [first, second] = [tokenOf(inspector.invite()), tokenOf(inspector.invite())];
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(second).not.toBe(first);
    const tokens = [await enter(inspector, first), await enter(inspector, second)];
    for (const token of tokens) expect((await ask(inspector, token, "/api/session")).status).toBe(200);
    await expect(enter(inspector, first)).rejects.toThrow();
  });

  it("listens on this machine only", async () => {
    const inspector = await serve(createFixedSource(sessionOf(1)));
    expect(inspector.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it.each([
    { name: "an expectation that nobody meets", head: "GET / HTTP/1.1\r\nexpect: miracles", status: 417 },
    { name: "a read with a body", head: "GET / HTTP/1.1\r\ncontent-length: 1", body: "x", status: 400 },
    {
      name: "a read with a body in chunks",
      head: "GET / HTTP/1.1\r\ntransfer-encoding: chunked",
      status: 400,
    },
    { name: "a write with the method of a read", head: "GET /api/token HTTP/1.1", status: 405 },
    { name: "something that is no HTTP", head: "\x16\x03\x01 hello", status: 400 },
    { name: "a path of 3,000 characters", head: `GET /${"a".repeat(3_000)} HTTP/1.1`, status: 400 },
    {
      name: "a token with a second content type",
      head: "POST /api/token HTTP/1.1\r\ncontent-type: application/json\r\ncontent-type: text/plain\r\ncontent-length: 0",
      status: 415,
    },
    {
      name: "a type that only begins like JSON",
      head: "POST /api/token HTTP/1.1\r\ncontent-type: application/json-seq\r\ncontent-length: 0",
      status: 415,
    },
    {
      name: "the route of the token with a query",
      head: "POST /api/token?x HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 0",
      status: 405,
    },
  ])("answers $name with $status and every header", async ({ head, body = "", status }) => {
    const inspector = await serve(createFixedSource(sessionOf(1)));
    const port = Number(new URL(inspector.origin).port);
    const bytes = `${head}\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n${body}`;
    const answer = await sendRaw(port, bytes);
    expect(answer.status).toBe(status);
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      expect(answer.headers.get(name)).toBe(value);
    if (status === 405) expect(answer.headers.get("allow")).toMatch(/^(GET, HEAD|POST)$/);
  });

  it("answers a fault of its own with every header and without a word about it", async () => {
    const broken: SessionSource = {
      head: () => {
        throw new Error("a secret reason");
      },
      transcript: () => [],
    };
    const inspector = await serve(broken);
    const response = await ask(
      inspector,
      await enter(inspector, tokenOf(inspector.invite())),
      "/api/session",
    );
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret reason");
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      expect(response.headers.get(name)).toBe(value);
  });

  it("has no events of a session that is over", async () => {
    const inspector = await serve(createFixedSource(sessionOf(1)));
    const token = await enter(inspector, tokenOf(inspector.invite()));
    expect((await ask(inspector, token, "/api/events")).status).toBe(404);
  });

  it("ends when nobody has asked for long", async () => {
    const inspector = await serve(createFixedSource(sessionOf(1)), { idleMs: 50 });
    expect(await inspector.ended).toBe("idle");
    await expect(fetch(inspector.origin)).rejects.toThrow();
  });

  it("does not end while somebody listens", async () => {
    const live = { revision: () => 0, listen: () => () => {} };
    const inspector = await serve({ ...createFixedSource(sessionOf(1)), live }, { idleMs: 100 });
    const token = await enter(inspector, tokenOf(inspector.invite()));
    const stream = await ask(inspector, token, "/api/events");
    const first = await Promise.race([
      inspector.ended,
      new Promise((resolve) => setTimeout(() => resolve("still there"), 500)),
    ]);
    expect(first).toBe("still there");
    await stream.body?.cancel();
    expect(await inspector.ended).toBe("idle");
  });

  it("ends at once when it is told to, whoever listens", async () => {
    const live = { revision: () => 0, listen: () => () => {} };
    const inspector = await serve({ ...createFixedSource(sessionOf(1)), live });
    const token = await enter(inspector, tokenOf(inspector.invite()));
    const stream = await ask(inspector, token, "/api/events");
    const reading = stream.text().catch(() => "cut");
    await inspector.stop();
    expect(await inspector.ended).toBe("stopped");
    await reading;
  });
});
