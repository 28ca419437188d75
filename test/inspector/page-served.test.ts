import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource, type LiveSource } from "../../src/inspector/server/session-source.ts";
import { createInspection } from "../../src/inspector/view/inspection.ts";
import type { LiveEvent, LiveFork } from "../../src/inspector/view/protocol.ts";
import type { Message } from "../../src/transcript/message.ts";
import { chromiumPath, type PageRig, startPageRig } from "./support/page-rig.ts";
import { seriousFindings } from "./support/serious-findings.ts";
import { exampleSession, message, sessionWith, text } from "./support/sessions.ts";

describe.skipIf(chromiumPath === undefined)("the served page", () => {
  let rig: PageRig;
  beforeAll(async () => {
    rig = await startPageRig();
  });
  afterAll(() => rig?.stop());
  const visit = async (address: string): Promise<{ page: Page; problems: string[] }> => {
    const context = await rig.browser.newContext({ viewport: { width: 1_400, height: 900 } });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (entry) => entry.type() === "error" && problems.push(entry.text()));
    await page.goto(address);
    return { page, problems };
  };

  it("shows the same as the single file and forgets the token in its address", async () => {
    const session = await exampleSession();
    const inspector = await serveInspector({ source: createFixedSource(session), assets: rig.assets });
    try {
      const { page, problems } = await visit(inspector.invite());
      await page.locator(".strata").waitFor();
      expect(page.url()).toBe(`${inspector.origin}/`);
      const { size } = createInspection(session).inspectWindow({ policy: "as-sent" });
      expect(await page.locator("#window-tokens").innerText()).toBe(size.tokens.toLocaleString("en-US"));
      await page.locator(".band.item").first().click();
      await page.getByLabel("Text before").waitFor();
      expect(problems).toEqual([]);
      await page.reload();
      await page.locator(".strata").waitFor();
      expect(await page.locator("#window-tokens").innerText()).toBe(size.tokens.toLocaleString("en-US"));
      expect(problems).toEqual([]);
      const other = await page.context().newPage();
      await other.goto(inspector.origin);
      await expect.poll(() => other.locator("h1").innerText()).toBe("The session could not be read");
      expect(await other.locator("main").innerText()).toContain("carryover inspect --open");
      await page.context().close();
    } finally {
      await inspector.stop();
    }
  });

  it("says so when an address is used twice", async () => {
    const inspector = await serveInspector({
      source: createFixedSource(sessionWith([])),
      assets: rig.assets,
    });
    try {
      const address = inspector.invite();
      const first = await visit(address);
      await first.page.locator(".strata").waitFor();
      await first.page.context().close();
      const { page } = await visit(address);
      await expect.poll(() => page.locator("main").innerText()).toContain("was used before");
      await page.context().close();
    } finally {
      await inspector.stop();
    }
  });

  it("grows while the session runs, and shows its forks, its cache and its cost", async () => {
    const { source, say } = talkingSource();
    const inspector = await serveInspector({ source, assets: rig.assets });
    try {
      const { page, problems } = await visit(inspector.invite());
      await page.locator(".live").waitFor();
      await expect.poll(() => page.locator(".band").count()).toBe(2);
      say({ type: "session", session: HEAD, activity: "working", forks: [FORK] });
      const at = { atMs: 5_000, sessionId: "ses_1" };
      say({
        type: "journal",
        entries: [
          { ...at, ...REQUEST },
          { ...at, ...BATCH },
        ],
      });
      say({ type: "batches", batches: [], left: [LEFT] });
      for (let count = 3; count <= 30; count++) {
        const index = count - 1;
        const changes = [{ index, message: message(`m${index}`, "assistant", [text(`answer ${index}`)]) }];
        say({ type: "messages", revision: count, count, changes });
      }
      await expect.poll(() => page.locator(".time output").innerText()).toContain("message 30 of 30");
      await expect.poll(() => page.locator(".band").last().textContent()).toContain("answer 29");
      const strip = await page.locator(".live").innerText();
      expect(strip).toContain("working");
      expect(strip).toContain("#1 running check rounding");
      expect(strip).toMatch(/from cache\s+90 %/);
      expect(strip).toMatch(/cost\s+\$0\.0120/);
      await page.getByRole("tab", { name: "Live" }).click();
      const panel = await page.getByRole("tabpanel").innerText();
      expect(panel).toMatch(/this session\s+1\s+50\s+900\s+50\s+20\s+\$0\.0120/);
      expect(panel).toContain("90 % of what was sent came from the cache.");
      expect(panel).toContain("m0/1");
      expect(panel).toMatch(/#1 check rounding full\s+running\s+2\s+12,000/);
      expect(await seriousFindings(page)).toEqual([]);
      await page.locator("#time").fill("4");
      say({ type: "messages", revision: 31, count: 31, changes: [{ index: 30, message: LAST }] });
      await expect.poll(() => page.locator(".time output").innerText()).toContain("message 4 of 31");
      expect(problems).toEqual([]);
      await page.context().close();
    } finally {
      await inspector.stop();
    }
  });
});

const { transcript: FIRST, ...HEAD } = {
  ...sessionWith([message("m0", "user", [text("hello")]), message("m1", "assistant", [text("hi")])]),
  sessionId: "ses_1",
};
const LAST: Message = message("m30", "user", [text("and now")]);

const FORK: LiveFork = {
  id: "fork",
  number: 1,
  title: "check rounding",
  state: "running",
  isLive: true,
  inherit: "full",
  calls: 2,
  tokens: 12_000,
  costUSD: 0.002,
};

const REQUEST = {
  type: "request",
  messageId: "m1",
  model: "scripted/model",
  inputTokens: 50,
  outputTokens: 20,
  reasoningTokens: 0,
  cacheReadTokens: 900,
  cacheWriteTokens: 50,
  costUSD: 0.012,
} as const;

const BATCH = {
  type: "batch",
  batchId: "batch",
  step: "prune",
  reason: "it pays",
  tokensBefore: 900,
  tokensAfter: 500,
} as const;
const LEFT = {
  batchId: "batch",
  atMs: 5_000,
  messageId: "m0",
  stage: "prune",
  reason: "pruned",
  savedTokens: 400,
  handle: "m0/1",
} as const;

/** A source that says what the test lets it say. */
function talkingSource() {
  const listeners = new Set<(event: LiveEvent) => void>();
  const live: LiveSource = {
    revision: () => 2,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    source: { head: () => HEAD, transcript: () => FIRST, live },
    say: (event: LiveEvent): void => {
      for (const listener of listeners) listener(event);
    },
  };
}
