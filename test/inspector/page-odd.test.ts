import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInspection } from "../../src/inspector/view/inspection.ts";
import type { Part } from "../../src/transcript/part.ts";
import { chromiumPath, type PageRig, startPageRig } from "./support/page-rig.ts";
import { longSession, message, sessionWith, text } from "./support/sessions.ts";

describe.skipIf(chromiumPath === undefined)("the page of an odd session", () => {
  let rig: PageRig;
  beforeAll(async () => {
    rig = await startPageRig();
  });
  afterAll(() => rig?.stop());

  it("says that nothing was said yet", async () => {
    const { page, problems } = await rig.open(sessionWith([]));
    expect(await page.locator(".window-head").innerText()).toContain("Nothing was said yet.");
    for (const tab of ["Cost", "Lost", "Child", "Policies", "Text", "Fills"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.waitForTimeout(100);
    }
    await page.keyboard.press("c");
    await page.locator(".scroller").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await page.locator(".band").count()).toBe(0);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("shows a session in a window of 8,000 tokens as one that fits into it, with a row for its summary", async () => {
    const session = { ...longSession(300), windowTokens: 8_000, windowKnown: true };
    const { inspectWindow } = createInspection(session);
    const { page, problems } = await rig.open(session);
    await page.selectOption("#policy-a", "session");
    const view = inspectWindow({ policy: "session", budgetTokens: 8_000 });
    expect(view.size.tokens).toBeLessThanOrEqual(8_000);
    await expect
      .poll(() => page.locator(".figure").innerText())
      .toContain(`${view.size.tokens.toLocaleString("en-US")} of 8,000 tokens`);
    const numbers = async (rows: string): Promise<readonly number[]> =>
      (await page.locator(`#by-status ${rows} td.strong`).allInnerTexts()).map((text) =>
        Number(text.replaceAll(",", "")),
      );
    const [all = 0] = (await numbers("tfoot tr:last-child")) as [number?];
    const sum = (await numbers("tbody tr")).reduce((total, number) => total + number, 0);
    expect(all).toBe(view.size.tokens);
    expect(Math.abs(sum + Math.round(view.size.outsideTokens) - all)).toBeLessThan(5);
    expect(await page.locator('#by-status [data-fate="new"]').count()).toBe(view.inserted.length > 0 ? 1 : 0);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("bears one message of 5 MB", async () => {
    const words = "The total of line 7 is a cent off. ".repeat(150_000);
    const session = sessionWith([message("m", "user", [text(words)])]);
    const { page, problems } = await rig.open(session);
    await page.locator(".band").click();
    const before = page.getByLabel("Text before");
    await before.waitFor();
    expect((await before.locator("pre").textContent())?.length).toBeLessThan(40_000);
    await page.getByRole("button", { name: "Show more" }).first().click();
    await expect
      .poll(async () => (await before.locator("pre").textContent())?.length ?? 0)
      .toBeGreaterThan(40_000);
    await page.selectOption("#policy-a", "fill");
    const { inspectWindow, budget } = createInspection(session);
    const view = inspectWindow({ policy: "fill", budgetTokens: budget.default });
    await expect
      .poll(() => page.locator("#window-tokens").innerText(), { timeout: 30_000 })
      .toBe(view.size.tokens.toLocaleString("en-US"));
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("shows parts that nobody knows, roles that nobody knows and texts that would be markup", async () => {
    const markup =
      '<img src="https://example.invalid/x.png" onerror="window.hit = 1"><script>window.hit = 1</script>';
    const parts: readonly Part[] = [
      { type: "opaque", name: markup },
      { type: "file", mime: "image/png", filename: markup },
      { type: "compaction", trigger: "manual" },
      { type: "reasoning", text: markup },
      { type: "tool", callId: "c", tool: markup, input: { markup }, outcome: { status: "pending" } },
      { type: "tool", callId: "d", tool: "x", input: null, outcome: { status: "failed", error: markup } },
    ];
    const { page, problems } = await rig.open({
      ...sessionWith([message(markup, markup, parts), message("n", "user", [])]),
      title: markup,
      model: markup,
      problems: [markup],
    });
    expect(await page.locator("h1").innerText()).toBe(markup);
    const bands = page.locator(".band");
    for (let at = 0; at < (await bands.count()); at++) {
      await bands.nth(at).hover();
      await bands.nth(at).click();
      await page.waitForTimeout(60);
    }
    await page.getByRole("tab", { name: "Child" }).click();
    await page.getByLabel("What a child would read").waitFor();
    expect(await page.evaluate("window.hit")).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("says what is wrong when its data cannot be read", async () => {
    const context = await rig.browser.newContext();
    const page = await context.newPage();
    await page.setContent(
      '<div id="app"></div><script type="application/json" id="carryover-data">{</script>',
    );
    await page.evaluate(rig.assets.script);
    await expect.poll(() => page.locator("h1").innerText()).toBe("The session could not be read");
    await context.close();
  });

  it("stays small with 10,000 messages, and says how many frames it dropped", async () => {
    const session = longSession(10_000);
    const { page, problems } = await rig.open(session);
    const view = createInspection(session).inspectWindow({ policy: "as-sent" });
    await expect
      .poll(() => page.locator("#window-tokens").innerText())
      .toBe(view.size.tokens.toLocaleString("en-US"));
    const items = view.rows.reduce((sum, row) => sum + row.items.length, 0);
    expect(await page.locator(".band").first().getAttribute("aria-setsize")).toBe(String(items));
    const resting = await scrollThrough(page, { steps: 100, share: 0 });
    const whole = await scrollThrough(page, { steps: 300, share: 1 });
    const wheel = await scrollThrough(page, { steps: 300, share: 0.03 });
    const part = (figures: ScrollFigures): string =>
      `${figures.dropped} of ${figures.frames + figures.dropped} frames dropped, longest ${figures.worstMs.toFixed(0)} ms, ${figures.cpuMs.toFixed(1)} ms of the page's own time a frame`;
    console.log(`10,000 messages, ${items} items, at most ${whole.mostNodes} elements
  the whole session in ${whole.frames} steps: ${part(whole)}
  as a wheel does it: ${part(wheel)}
  the same page at rest on this machine: ${part(resting)}`);
    expect(whole.mostNodes).toBeLessThan(1_500);
    await page.locator(".scroller").focus();
    await page.keyboard.press("End");
    await expect.poll(() => page.locator(".band.active").textContent()).toMatch(/^message 10,000 /);
    await page.keyboard.press("Enter");
    await page.getByLabel("Text before").waitFor();

    await page.locator("#time").fill("7000");
    const past = createInspection(session).inspectWindow({ policy: "as-sent", upTo: 7_000 });
    await expect
      .poll(() => page.locator("#window-tokens").innerText(), { timeout: 30_000 })
      .toBe(past.size.tokens.toLocaleString("en-US"));
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

interface ScrollFigures {
  readonly frames: number;
  readonly dropped: number;
  readonly worstMs: number;
  /** What the page's thread really worked; what other programs of a busy machine did is not in it. */
  readonly cpuMs: number;
  readonly mostNodes: number;
}

/** Scrolls from the top through a share of the session, one step a frame, and looks at the time between frames. */
async function scrollThrough(
  page: Page,
  { steps, share }: { readonly steps: number; readonly share: number },
): Promise<ScrollFigures> {
  const program = `(async () => {
    const scroller = document.querySelector(".scroller");
    scroller.scrollTop = 0;
    const end = ${share} * (scroller.scrollHeight - scroller.clientHeight);
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let lastMs = await next();
    let dropped = 0, worstMs = 0, mostNodes = 0;
    for (let step = 1; step <= ${steps}; step++) {
      scroller.scrollTop = (end * step) / ${steps};
      const nowMs = await next();
      const deltaMs = nowMs - lastMs;
      lastMs = nowMs;
      dropped += Math.max(0, Math.round(deltaMs / (1000 / 60)) - 1);
      worstMs = Math.max(worstMs, deltaMs);
      if (step % 20 === 0) mostNodes = Math.max(mostNodes, document.querySelectorAll("*").length);
    }
    return { frames: ${steps}, dropped, worstMs, mostNodes };
  })()`;
  const meter = await page.context().newCDPSession(page);
  await meter.send("Performance.enable", { timeDomain: "threadTicks" });
  const workedMs = async (): Promise<number> => {
    const { metrics } = await meter.send("Performance.getMetrics");
    return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
  };
  const beforeMs = await workedMs();
  const figures = (await page.evaluate(program)) as Omit<ScrollFigures, "cpuMs">;
  const cpuMs = ((await workedMs()) - beforeMs) / steps;
  await meter.detach();
  return { ...figures, cpuMs };
}
