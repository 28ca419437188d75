import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { HostPrompt } from "../../plugin/host/agent-host.ts";
import { createHostCalls, type HostCalls } from "./host-calls.ts";
import { createSessions } from "./sessions.ts";

function callsTo(fetch: (request: Request) => Promise<Response>) {
  const client = { _client: { getConfig: () => ({ baseUrl: "http://host.invalid", fetch }) } };
  const calls = createHostCalls({ client, directory: "/project" });
  if (calls === undefined) throw new Error("No calls");
  return calls;
}

describe("a call of the host", () => {
  it("gives the body, and names the project", async () => {
    const urls: string[] = [];
    const calls = callsTo(async ({ url }) => {
      urls.push(url);
      return Response.json({ id: 1 });
    });
    expect(await calls.call("GET", "/session?start=1")).toEqual({ status: "ok", body: { id: 1 } });
    expect(urls).toEqual(["http://host.invalid/session?start=1&directory=%2Fproject"]);
  });

  it.each([
    { name: "a refusal", fetch: async () => new Response("no", { status: 404 }), code: 404 },
    { name: "a lost connection", fetch: () => Promise.reject(new Error("gone")), code: "no-answer" },
    { name: "an answer that is no JSON", fetch: async () => new Response("<html>"), code: "no-answer" },
  ])("says so for $name", async ({ fetch, code }) => {
    expect(await callsTo(fetch).call("GET", "/session")).toMatchObject({ status: "failed", code });
  });

  it("is given up when no answer comes, so that no hook waits for ever", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const answer = callsTo(() => new Promise(() => {})).call("GET", "/session");
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await answer).toMatchObject({ status: "failed", code: "no-answer" });
  });
});

describe("a session of which the user has taken messages back", () => {
  const message = (id: string, ...parts: readonly string[]) => ({
    info: { id, role: "user" },
    parts: parts.map((part) => ({ id: part, type: "text", text: part })),
  });
  const STORED = [message("m1", "p1"), message("m2", "p2", "p3"), message("m3", "p4")];
  function sessionWith(revert: unknown) {
    const asked: string[] = [];
    const calls: HostCalls = {
      async call(method, path) {
        asked.push(`${method} ${path}`);
        return { status: "ok", body: path.endsWith("/message") ? STORED : { id: "s", revert } };
      },
    };
    return { asked, sessions: createSessions(calls) };
  }
  const PROMPT: Omit<HostPrompt, "reply"> = {
    sessionId: "s",
    messageId: "m4",
    text: "Results.",
    from: "program",
    note: {},
    turn: "last-user-turn",
  };

  it.each([
    { name: "nothing", revert: undefined, stands: "p1 p2 p3 p4", undone: undefined },
    { name: "from a message on", revert: { messageID: "m2" }, stands: "p1", undone: "p2 p3 p4" },
    { name: "everything", revert: { messageID: "m1" }, stands: "", undone: "p1 p2 p3 p4" },
    {
      name: "from a part on",
      revert: { messageID: "m2", partID: "p3" },
      stands: "p1 p2",
      undone: "p3 p4",
    },
    {
      name: "from a part that is gone",
      revert: { messageID: "m2", partID: "p9" },
      stands: "p1 p2 p3",
      undone: "p4",
    },
    { name: "from a message that is gone", revert: { messageID: "m9" }, stands: "p1 p2 p3 p4", undone: "" },
  ])("is read as what stands and what may be restored: $name", async ({ revert, stands, undone }) => {
    const read = await sessionWith(revert).sessions.read("s");
    if (read.status === "failed") throw new Error(read.reason);
    const partsOf = (messages: readonly object[] | undefined) =>
      messages?.flatMap((each) => (each as (typeof STORED)[number]).parts.map(({ id }) => id)).join(" ");
    expect(partsOf(read.value.messages)).toBe(stands);
    expect(partsOf(read.value.undone)).toBe(undone);
  });

  it("is read as it stands in requests, so that a handle names the same part", async () => {
    const [first, ...rest] = STORED[1]?.parts ?? [];
    const shown = { id: "p0", type: "text", text: "pruned", metadata: { carryover: { shown: "k" } } };
    const stored = [{ ...STORED[1], parts: [shown, first, ...rest] }];
    const calls: HostCalls = {
      call: async (_, path) => ({ status: "ok", body: path.endsWith("/message") ? stored : { id: "s" } }),
    };
    const read = await createSessions(calls).read("s");
    expect(read).toMatchObject({ value: { messages: [{ parts: [{ id: "p2" }, { id: "p3" }] }] } });
  });

  it.each(["wanted", "none"] as const)(
    "gets no message, which would delete them: reply %s",
    async (reply) => {
      const { asked, sessions } = sessionWith({ messageID: "m2" });
      expect(await sessions.prompt({ ...PROMPT, reply })).toMatchObject({
        status: "failed",
        code: "reverted",
      });
      expect(asked.filter((call) => call.startsWith("POST"))).toEqual([]);
    },
  );

  it("is asked for right before a message goes out", async () => {
    const { asked, sessions } = sessionWith(undefined);
    await sessions.prompt({ ...PROMPT, reply: "wanted" });
    const sent = asked.indexOf("POST /session/s/prompt_async");
    expect(asked[sent - 1]).toBe("GET /session/s");
  });

  it("says so in its facts", async () => {
    const { sessions } = sessionWith({ messageID: "m2" });
    expect(await sessions.get("s")).toMatchObject({ value: { revertedFrom: "m2" } });
  });
});
