import { chromium } from "playwright-core";
import { expect } from "vitest";
import { createInspection } from "../../../src/inspector/view/inspection.ts";
import { cacheHitShare } from "../../../src/inspector/view/protocol.ts";
import { builtPage } from "../../inspector/server-built-page.ts";
import { tokenOf } from "../../inspector/server-support.ts";
import { chromiumPath } from "../../inspector/support/page-rig.ts";
import { call, say } from "../../rig/model-server/step.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { followSession, startInspector } from "./live-support.ts";
import { longPrompt, makeReports, REPORT_FILES } from "./window-support.ts";

scenario(
  "a session is followed from another process",
  {
    plugin: {
      prune: "auto",
      toolOutput: false,
      models: { "scripted/long-window": { keepTokens: 1_000, facts: { cache: "none" } } },
    },
    why: "by default nothing is pruned before the window is nearly full; so it begins after a few turns",
    twin: "a session is followed with default options",
    files: REPORT_FILES,
    timeoutMs: 300_000,
    proves:
      "`carryover inspect --live` tells a page of every message, what left and why, forks and their state, tokens, cache and cost",
  },
  async (rig) => {
    builtPage();
    const id = await rig.newSession("A long session");
    await rig.turn(id, "Make four.", makeReports(["first", "second", "third", "fourth"]));

    const served = await startInspector(rig);
    const follower = await followSession(served.address);
    try {
      expect(follower.state()).toMatchObject({
        session: { sessionId: id, title: "A long session", format: "opencode", problems: [] },
        forks: [],
      });
      const storedCount = async (): Promise<number> => (await rig.opencode.messages(id)).length;
      expect(follower.state().session.transcript).toHaveLength(await storedCount());

      for (const turn of [2, 3, 4]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
      await rig.waitFor(() => follower.state().left.length > 0, {
        what: "what left",
        timeoutMs: 60_000,
      });
      await rig.waitFor(async () => follower.state().session.transcript.length === (await storedCount()), {
        what: "all messages",
        timeoutMs: 60_000,
      });
      const { left, own, session, entries } = follower.state();
      expect(left.every(({ stage }) => stage === "keep-lines")).toBe(true);
      const { rows } = createInspection(session).inspectWindow({ policy: "as-sent" });
      const cleared = rows.filter(({ items }) => items.some(({ stage }) => stage === "keep-lines"));
      expect(new Set(cleared.map((row) => row.id))).toEqual(new Set(left.map(({ messageId }) => messageId)));
      expect(own.requests).toBe(rig.requests({ sessionId: id }).length);
      expect(own.inputTokens + own.cacheReadTokens + own.cacheWriteTokens).toBeGreaterThan(1_000);
      expect(cacheHitShare(own)).toBeGreaterThanOrEqual(0);
      expect(entries.findLast(({ type }) => type === "request")).toMatchObject({
        model: "scripted/long-window",
      });

      rig.model.script([say("Waited.", { family: "child" })]);
      await rig.turn(id, "Fork it.", [call("fork", { prompt: "Wait.", title: "Waiter" }), say("Forked.")]);
      rig.model.script([say("Heard.", { sessionId: id, times: "always" })]);
      const fork = await rig.waitFor(
        () => follower.state().forks.find(({ state }) => state === "completed"),
        { what: "the fork's end", timeoutMs: 60_000 },
      );
      expect(fork).toMatchObject({ number: 1, title: "Waiter", isLive: false });
      expect(follower.state().entries.some((entry) => entry.type === "fork")).toBe(true);
      expect(follower.state().children.requests).toBeGreaterThan(0);

      await seenInBrowser(rig);
      await rig.kill9();
      await rig.waitFor(() => follower.state().activity === "ended", "the end");
      served.child.kill("SIGINT");
      expect(await served.ended).toBe(0);
      expect(served.output().split(tokenOf(served.address))).toHaveLength(2);
    } finally {
      follower.leave();
      served.child.kill("SIGKILL");
    }
  },
);

scenario(
  "a session is followed with default options",
  { plugin: {}, proves: "messages, a fork and its state, requests and tokens; nothing is said to have left" },
  async (rig) => {
    builtPage();
    const id = await rig.newSession("A short session");
    await rig.turn(id, "Hello.", [say("Hello.")]);
    const served = await startInspector(rig);
    const follower = await followSession(served.address);
    try {
      rig.model.script([
        say("Waited.", { family: "child" }),
        say("Heard.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
      ]);
      await rig.turn(id, "Fork it.", [call("fork", { prompt: "Wait.", title: "Waiter" }), say("Forked.")]);
      const fork = await rig.waitFor(
        () => follower.state().forks.find(({ state }) => state === "completed"),
        "the fork's end",
      );
      expect(fork).toMatchObject({ number: 1, title: "Waiter" });
      const { session, own, children, left } = follower.state();
      expect(session).toMatchObject({ sessionId: id, title: "A short session", problems: [] });
      expect(own.requests).toBeGreaterThanOrEqual(3);
      expect(children.requests).toBeGreaterThan(0);
      expect(left).toEqual([]);
    } finally {
      follower.leave();
      served.child.kill("SIGKILL");
    }
  },
);

/** A person with a browser sees the same. */
async function seenInBrowser(rig: Rig): Promise<void> {
  if (chromiumPath === undefined) {
    console.log("skipped: there is no Chromium to follow the session in");
    return;
  }
  const served = await startInspector(rig);
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1_400, height: 900 } });
    await page.goto(served.address);
    const strip = page.locator(".live");
    await strip.waitFor();
    await rig.waitFor(async () => (await strip.textContent())?.includes("Waiter"), "the fork on the page");
    const text = (await strip.textContent()) ?? "";
    expect(text).toMatch(/requests\s*\d/);
    expect(text).toMatch(/left\s*[\d.]+ ?k?/);
    expect(await page.title()).not.toContain(tokenOf(served.address));
    expect(page.url()).not.toContain("#t=");
    await page
      .locator(".band", { has: page.locator(".badge.clipped, .badge.hidden") })
      .first()
      .hover();
    expect(await page.locator(".card").textContent()).toMatch(/stage\s*keep-lines/);
    if (process.env.CARRYOVER_LIVE_PICTURE)
      await page.screenshot({ path: process.env.CARRYOVER_LIVE_PICTURE });
  } finally {
    await browser.close();
    served.child.kill("SIGINT");
    await served.ended;
  }
}
