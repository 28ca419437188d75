import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createHostCalls } from "./sessions.ts";

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
