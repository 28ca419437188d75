import { afterEach, describe, expect, it } from "vitest";
import { type ServedInspector, serveInspector } from "../../src/hosts/inspector/server/serve-inspector.ts";
import { fixedSource, type SessionSource } from "../../src/hosts/inspector/server/session-source.ts";
import { ask, enter, FAKE_ASSETS, sessionOf, tokenOf } from "./server-support.ts";

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
    const inspector = await serve(fixedSource({ ...head, transcript }));
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
      const inspector = await serve(fixedSource(sessionOf(3)));
      const token = await enter(inspector, tokenOf(inspector.invite()));
      expect((await ask(inspector, token, `/api/messages?${query}`)).status).toBe(400);
    },
  );

  it("has a different one-time token of 256 bits in each address, and each works once", async () => {
    const inspector = await serve(fixedSource(sessionOf(1)));
    const [first, second] = [tokenOf(inspector.invite()), tokenOf(inspector.invite())];
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(second).not.toBe(first);
    const tokens = [await enter(inspector, first), await enter(inspector, second)];
    for (const token of tokens) expect((await ask(inspector, token, "/api/session")).status).toBe(200);
    await expect(enter(inspector, first)).rejects.toThrow();
  });

  it("listens on this machine only", async () => {
    const inspector = await serve(fixedSource(sessionOf(1)));
    expect(inspector.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it("has no events of a session that is over", async () => {
    const inspector = await serve(fixedSource(sessionOf(1)));
    const token = await enter(inspector, tokenOf(inspector.invite()));
    expect((await ask(inspector, token, "/api/events")).status).toBe(404);
  });

  it("ends when nobody has asked for long", async () => {
    const inspector = await serve(fixedSource(sessionOf(1)), { idleMs: 50 });
    expect(await inspector.ended).toBe("idle");
    await expect(fetch(inspector.origin)).rejects.toThrow();
  });

  it("does not end while somebody listens", async () => {
    const live = { revision: () => 0, listen: () => () => {} };
    const inspector = await serve({ ...fixedSource(sessionOf(1)), live }, { idleMs: 100 });
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
    const inspector = await serve({ ...fixedSource(sessionOf(1)), live });
    const token = await enter(inspector, tokenOf(inspector.invite()));
    const stream = await ask(inspector, token, "/api/events");
    const reading = stream.text().catch(() => "cut");
    await inspector.stop();
    expect(await inspector.ended).toBe("stopped");
    await reading;
  });
});
