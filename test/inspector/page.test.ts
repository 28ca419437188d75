import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createInspection } from "../../src/inspector/view/inspection.ts";
import type { Inspection, WindowView } from "../../src/inspector/view/types.ts";
import { requestsWith } from "../../src/inspector/view/window-over-time.ts";
import { chromiumPath, type OpenedPage, type PageRig, startPageRig } from "./support/page-rig.ts";
import { exampleSession } from "./support/sessions.ts";

describe.skipIf(chromiumPath === undefined)("the page of the example", () => {
  let rig: PageRig;
  let inspection: Inspection;
  let opened: OpenedPage;
  beforeAll(async () => {
    rig = await startPageRig();
    inspection = createInspection(await exampleSession());
  });
  afterAll(() => rig?.stop());
  afterEach(async () => {
    expect(opened.problems).toEqual([]);
    await opened.page.context().close();
  });
  const open = async (): Promise<Page> => {
    opened = await rig.open(inspection.session);
    return opened.page;
  };

  it("says in its head what the session is and how full its window is", async () => {
    const page = await open();
    const view = inspection.inspectWindow({ policy: "as-sent" });
    const head = await page.locator(".head").innerText();
    expect(head).toContain("Invoice totals are a cent off");
    expect(head).toContain("opencode · scripted/middle-window · 50 messages");
    const window = await page.locator(".window-head").innerText();
    expect(window).toContain(
      `${number(view.size.tokens)} of 128,000 tokens (window assumed), counted by the provider`,
    );
    expect(window).toContain("chars seen");
    for (const question of ["What fills it? ", "What did it cost? ", "What was lost? 1 compaction: "])
      await expect.poll(() => page.locator(".answers").innerText()).toContain(question);
    await expect.poll(() => page.locator(".over-time").innerText()).toContain("41 requests · 1 compaction");
    await page.getByRole("button", { name: /^compaction/ }).click();
    await expect.poll(() => page.locator(".time output").innerText()).not.toContain("message 50 of 50");
    await page.locator("#time").fill("50");
    await page.getByRole("tab", { name: "Fills" }).click();
    await expect.poll(() => totalsOf(page)).toEqual(expectedTotals(view));
    expect(await page.locator(".band").count()).toBeGreaterThan(15);
  });

  it("draws what is sent solid, and the rest beside it", async () => {
    const page = await open();
    await page.selectOption("#policy-a", "fixed");
    const view = inspection.inspectWindow({ policy: "fixed", budgetTokens: inspection.budget.default });
    await expect.poll(() => page.locator("#window-tokens").innerText()).toBe(number(view.size.tokens));
    const item = view.rows.flatMap(({ items }) => items).find(({ fate }) => fate === "clipped");
    if (item === undefined) throw new Error("nothing is clipped");
    const band = page.locator(`[data-key="${item.key}"]`);
    await scrollTo(page, item.key);
    const [track, sent] = await Promise.all([width(band.locator(".track")), width(band.locator(".sent"))]);
    expect(sent / track).toBeCloseTo(item.keptTokens / item.tokens, 1);
  });

  it("shows reason, stage, saving and handle under the pointer", async () => {
    const page = await open();
    await page.locator(".band.folded").click();
    const band = page.locator(".band", { has: page.locator(".badge.summarized") }).first();
    await band.hover();
    const key = await band.getAttribute("data-key");
    const item = itemsOf(inspection.inspectWindow({ policy: "as-sent" })).find((one) => one.key === key);
    const card = await page.locator(".card").innerText();
    expect(card).toContain(item?.reason ?? "?");
    expect(card).toContain(item?.stage ?? "?");
    expect(card).toContain(`${number(item?.savedChars ?? 0)} of ${number(item?.chars ?? 0)} chars`);
    expect(card).toContain(item?.handle ?? "?");
  });

  it("opens where the window begins, with what is before in one line", async () => {
    const page = await open();
    const { rows } = inspection.inspectWindow({ policy: "as-sent" });
    const first = rows.findIndex(({ keptTokens }) => keptTokens > 0);
    const folded = page.locator(".band").first();
    expect(await folded.innerText()).toMatch(
      new RegExp(`${first} earlier messages, [\\d.]+ k characters, summarized`),
    );
    expect(await page.locator(".band").nth(1).textContent()).toMatch(new RegExp(`^message ${first + 1} `));
    await folded.click();
    await expect.poll(() => page.locator(".band").first().textContent()).toMatch(/^message 1 /);
    await page.getByRole("button", { name: "Fold earlier" }).click();
    await expect.poll(() => folded.innerText()).toContain("earlier messages");
  });

  it("sorts the list, and every kind of the bar and every row of the tables filters it", async () => {
    const page = await open();
    const view = inspection.inspectWindow({ policy: "as-sent" });
    const shown = (): Promise<number> =>
      page
        .locator(".band")
        .first()
        .getAttribute("aria-setsize")
        .then((total) => Number(total));
    await page.selectOption("#sort", "size");
    const [largest] = itemsOf({
      ...view,
      rows: view.rows.filter(({ keptTokens }) => keptTokens > 0),
    }).toSorted((one, other) => other.tokens - one.tokens);
    await expect.poll(() => page.locator(".band").nth(1).getAttribute("data-key")).toBe(largest?.key);
    await page.selectOption("#sort", "time");

    await page.getByRole("button", { name: "cleared", exact: true }).click();
    const cleared = itemsOf(view).filter(({ fate }) => fate === "cleared");
    await expect.poll(shown).toBe(cleared.length);
    await page.locator("#clear-filter").click();
    await expect.poll(shown).toBeGreaterThan(cleared.length);

    await page.locator(".names").first().getByRole("button", { name: "grep", exact: true }).click();
    const grep = itemsOf(view).filter(({ tool }) => tool === "grep");
    await expect.poll(shown).toBe(grep.length);
    expect(await page.locator("#filter-tool").inputValue()).toBe("grep");
    await page.getByRole("button", { name: /^tool input/ }).click();
    await expect.poll(shown).toBe(grep.filter(({ side }) => side === "input").length);
    await page.locator(".kind-bar .kind-tool-input").click();
    await page.selectOption("#filter-tool", "");
    await expect.poll(() => page.locator("#clear-filter").count()).toBe(0);

    const reason = page.locator(".reasons").getByRole("button").first();
    await reason.click();
    await expect.poll(shown).toBe(view.byReason[0]?.items);
    expect(await reason.getAttribute("aria-pressed")).toBe("true");
  });

  it("opens the text before and after, with the cut marked", async () => {
    const page = await open();
    await page.selectOption("#policy-a", "fixed");
    const view = inspection.inspectWindow({ policy: "fixed", budgetTokens: inspection.budget.default });
    const row = view.rows.find(({ items }) => items.some(isShortAndClipped));
    const item = row?.items.find(isShortAndClipped);
    if (row === undefined || item === undefined) throw new Error("nothing short is clipped");
    const { partIndex, side } = item;
    const texts = inspection.itemText(
      { policy: "fixed", budgetTokens: inspection.budget.default },
      { messageId: row.id, partIndex, side },
    );
    await expect.poll(() => page.locator("#window-tokens").innerText()).toBe(number(view.size.tokens));
    await scrollTo(page, item.key);
    await page.locator(`[data-key="${item.key}"]`).click();
    const before = page.getByLabel("Text before");
    await before.waitFor();
    expect(await before.locator("pre").textContent()).toBe(texts?.before);
    expect(await page.getByLabel("Text after").locator("pre").textContent()).toBe(texts?.after);
    const marked = (await before.locator("del").allTextContents()).join("");
    expect(marked).toBe(texts?.cuts.map(({ start, end }) => texts.before.slice(start, end)).join(""));
    expect(marked.length).toBeGreaterThan(100);
  });

  it.each(["fill", "fixed", "last-n"] as const)(
    "gives for every budget of %s what the engine gives in Node",
    async (policy) => {
      const page = await open();
      await page.selectOption("#policy-a", policy);
      for (const step of [10, 30, 50]) {
        await page.locator("#budget-a").fill(String(step));
        const budgetTokens = Number(await page.locator("#exact-a").inputValue());
        const view = inspection.inspectWindow({ policy, budgetTokens });
        expect(view.size.tokens).toBeLessThanOrEqual(budgetTokens);
        await expect.poll(() => totalsOf(page)).toEqual(expectedTotals(view));
        expect(await page.locator("#window-tokens").innerText()).toBe(number(view.size.tokens));
      }
    },
  );

  it("takes an exact budget", async () => {
    const page = await open();
    await page.selectOption("#policy-a", "fill");
    await page.locator("#exact-a").fill("43210");
    await page.keyboard.press("Tab");
    const view = inspection.inspectWindow({ policy: "fill", budgetTokens: 43_210 });
    await expect.poll(() => totalsOf(page)).toEqual(expectedTotals(view));
  });

  it("keeps an exact budget that is being typed while the engine answers", async () => {
    const page = await open();
    await page.selectOption("#policy-a", "fill");
    await page.locator("#exact-a").fill("43210");
    // Another question is asked and answered without the field losing its focus.
    await page.locator("#time").evaluate((time) => {
      (time as unknown as { value: string }).value = "30";
      time.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await expect.poll(() => page.locator(".time output").innerText()).toContain("message 30 of 50");
    expect(await page.locator("#exact-a").inputValue()).toBe("43210");
  });

  it("goes back in time", async () => {
    const page = await open();
    for (const upTo of [23, 26, 1]) {
      await page.locator("#time").fill(String(upTo));
      const view = inspection.inspectWindow({ policy: "as-sent", upTo });
      await expect.poll(() => totalsOf(page)).toEqual(expectedTotals(view));
      expect(await page.locator(".time output").innerText()).toContain(`message ${upTo} of 50`);
    }
  });

  it("shows two policies side by side with the difference", async () => {
    const page = await open();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.selectOption("#policy-a", "last-n");
    await page.locator("#exact-a").fill("30k");
    await page.keyboard.press("Enter");
    await page.selectOption("#policy-b", "fixed");
    const a = inspection.inspectWindow({ policy: "last-n", budgetTokens: 30_000 });
    const b = inspection.inspectWindow({ policy: "fixed", budgetTokens: inspection.budget.default });
    const difference = b.size.tokens - a.size.tokens;
    const words = `${difference > 0 ? "+" : "−"}${number(Math.abs(difference))}`;
    await expect.poll(() => page.locator("#difference").innerText()).toBe(words);
    const key = itemsOf(a).find(({ keptTokens }) => keptTokens > 0)?.key;
    expect(await page.locator(`[data-key="${key}"] .track`).count()).toBe(2);
    const all = await page.locator("#by-status tfoot tr").last().innerText();
    expect(all.split(/\s+/)).toEqual(["all", number(a.size.tokens), number(b.size.tokens), words]);
    expect(a.size.scale).not.toBe(1);
  });

  it("finds a text and goes from place to place", async () => {
    const page = await open();
    const matches = inspection.search("refund");
    await page.keyboard.press("/");
    await page.keyboard.type("refund");
    await expect.poll(() => page.locator(".search output").innerText()).toBe(`${matches.length} items`);
    for (const [at, match] of matches.slice(0, 3).entries()) {
      await page.keyboard.press("Enter");
      await expect.poll(() => activeKey(page)).toBe(match.key);
      expect(await page.locator(".search output").innerText()).toBe(`${at + 1} of ${matches.length}`);
    }
    await page.keyboard.press("Shift+Enter");
    await expect.poll(() => activeKey(page)).toBe(matches[1]?.key);
    expect(await page.locator(".band.active.match").count()).toBe(1);
    // It leads to the place in the text itself.
    const mark = page.locator("#panel-body mark").first();
    expect((await mark.innerText()).toLowerCase()).toBe("refund");
    await expect
      .poll(() =>
        mark.evaluate((element) => {
          const box = element.closest(".pane")?.getBoundingClientRect();
          const { top, bottom } = element.getBoundingClientRect();
          return box !== undefined && top >= box.top && bottom <= box.bottom;
        }),
      )
      .toBe(true);
  });

  it("shows exactly what a child would get, by each way", async () => {
    const page = await open();
    await page.getByRole("tab", { name: "Child" }).click();
    await page.selectOption("#child-profile", "documented");
    const budgetTokens = inspection.budget.default;
    const previews = inspection.previewForks({ profile: "documented", budgetTokens });
    for (const mode of ["text", "trimmed", "full"] as const) {
      const preview = previews[mode];
      await page.locator(`input[value=${mode}]`).check();
      const text = page.getByLabel(`What a child would read, ${mode}`);
      await text.waitFor();
      const row = await page.locator(".modes tr.chosen").innerText();
      await expect.poll(() => page.locator(".modes tr.chosen").innerText()).toContain(number(preview.tokens));
      expect(row).toContain(number(preview.chars));
      while (await page.getByRole("button", { name: "Show more" }).isVisible()) {
        await page.getByRole("button", { name: "Show more" }).click();
      }
      expect(await text.locator("pre").textContent()).toBe(preview.text);
    }
    expect(await page.locator(".cache").innerText()).toContain("read from the cache");
  });

  it("lists what every policy would leave, and applies the one that is chosen", async () => {
    const page = await open();
    await page.getByRole("tab", { name: "Policies" }).click();
    const results = inspection.comparePolicies({ upTo: 50 });
    await expect.poll(() => page.locator(".policies tbody tr").count()).toBe(results.length);
    await expect
      .poll(() => page.locator("#policy-verdict").innerText())
      .toMatch(/^Use .*For a child use Fork, f.*% of the cost\.$/);
    const [fixed] = results.filter(({ id }) => id === "fixed");
    await page.getByRole("button", { name: "Fork, fixed tiers" }).click();
    await expect.poll(() => page.locator("#window-tokens").innerText()).toBe(number(fixed?.tokens ?? 0));

    // One budget: set here, it is the one of the policy above and of a child.
    await page.locator("#exact-policies").fill("20k");
    await page.keyboard.press("Enter");
    const [smaller] = inspection
      .comparePolicies({ upTo: 50, budgetTokens: 20_000 })
      .filter(({ id }) => id === "fixed");
    await expect.poll(() => page.locator("#window-tokens").innerText()).toBe(number(smaller?.tokens ?? 0));
    expect(await page.locator("#exact-a").inputValue()).toBe("20000");
    await page.getByRole("tab", { name: "Child" }).click();
    expect(await page.locator("#exact-child").inputValue()).toBe("20000");
    const child = inspection.previewForks({ profile: "default", budgetTokens: 20_000 });
    await expect.poll(() => page.locator(".modes").innerText()).toContain(number(child.trimmed.tokens));
  });

  it("sorts by what things cost, and shows the window as areas by tool and file", async () => {
    const page = await open();
    const view = inspection.inspectWindow({ policy: "as-sent" });
    const carried = requestsWith(inspection.windowOverTime());
    await page.selectOption("#sort", "cost");
    const weights = view.rows
      .filter(({ keptTokens }) => keptTokens > 0)
      .flatMap(({ index, items }) =>
        items.map(({ key, tokens }) => ({ key, weight: tokens * carried(index) })),
      )
      .toSorted((one, other) => other.weight - one.weight);
    await expect.poll(() => page.locator(".band").nth(1).getAttribute("data-key")).toBe(weights[0]?.key);
    expect(await page.locator(".band").nth(1).locator(".size").innerText()).toMatch(/\d×$/);
    await page.selectOption("#sort", "time");

    await page.getByRole("button", { name: "Treemap" }).click();
    const areas = page.locator(".treemap .area");
    await expect.poll(() => areas.count()).toBeGreaterThan(3);
    const [first] = await page
      .locator(".treemap li")
      .evaluateAll((items) =>
        items
          .map((item) => [item.clientWidth * item.clientHeight, item.textContent ?? ""] as const)
          .toSorted((one, other) => other[0] - one[0]),
      );
    const [widest] = view.byTool.toSorted((one, other) => other.tokensAfter - one.tokensAfter);
    expect(first?.[0]).toBeGreaterThan(2_000);
    await areas.first().click();
    expect(await areas.first().getAttribute("aria-pressed")).toBe("true");
    await page.locator("#clear-filter").waitFor();
    expect(widest?.tokensAfter).toBeGreaterThan(0);
  });

  it("filters the list by every row of the tables of Cost and Lost, and searches for what is missing", async () => {
    const page = await open();
    const shown = async (): Promise<number> =>
      Number(await page.locator(".band").first().getAttribute("aria-setsize"));
    await page.getByRole("tab", { name: "Lost" }).click();
    const [lost] = inspection.lostContent();
    await page.locator(".compacted .pick").first().click();
    const items = itemsOf(inspection.inspectWindow({ policy: "as-sent", upTo: lost?.index ?? 0 }));
    await expect.poll(shown).toBe(items.length);
    for (const tab of ["Cost", "Lost"]) {
      await page.getByRole("tab", { name: tab }).click();
      const rows = page.locator("#panel-body tbody tr:has(td)").filter({ hasNot: page.locator("caption") });
      for (const row of await rows.all()) {
        if ((await row.locator("xpath=ancestor::table[contains(@class,'cache')]").count()) > 0) continue;
        expect(await row.locator(".pick").count(), await row.innerText()).toBe(1);
      }
    }
  });

  it("shows exactly what a compaction would leave, under what the ones before have lost", async () => {
    const page = await open();
    await page.getByRole("tab", { name: "Lost" }).click();
    const preview = inspection.previewCompaction({ upTo: 50 });
    if (preview.status !== "planned") throw new Error(preview.reason);
    const panel = page.getByRole("tabpanel");
    await expect.poll(() => page.locator(".compacted > h3").count()).toBe(inspection.lostContent().length);
    await page.getByLabel("The summary", { exact: true }).waitFor();
    expect(await page.getByLabel("The summary", { exact: true }).locator("pre").textContent()).toBe(
      preview.summary,
    );
    expect(await panel.innerText()).toContain(
      `${number(preview.tokensBefore)} → ${number(preview.tokensAfter)} tokens`,
    );
  });
});

const number = (value: number): string => value.toLocaleString("en-US");

function itemsOf(view: WindowView): readonly WindowView["rows"][number]["items"][number][] {
  return view.rows.flatMap(({ items }) => items);
}

function isShortAndClipped({
  fate,
  chars,
  savedChars,
}: WindowView["rows"][number]["items"][number]): boolean {
  return fate === "clipped" && chars < 2_400 && savedChars > 150;
}

/** Rows of the table by status, as text. */
async function totalsOf(page: Page): Promise<readonly string[]> {
  const rows = await page.locator("#by-status tbody tr, #by-status tfoot tr:last-child").allInnerTexts();
  return rows.map((row) =>
    row
      .replace(/^\w\s+/, "")
      .split(/\s+/)
      .slice(0, 4)
      .join(" "),
  );
}

function expectedTotals(view: WindowView): readonly string[] {
  const { scale, tokens, outsideTokens } = view.size;
  const order = ["kept", "clipped", "cleared", "summarized", "superseded", "hidden"];
  const fates = view.byFate.toSorted((one, other) => order.indexOf(one.fate) - order.indexOf(other.fate));
  const items = view.byFate.reduce((sum, total) => sum + total.items, 0);
  const shown = (estimated: number): string => number(Math.round(estimated * scale));
  return [
    ...fates.map(({ fate, items: own, tokensBefore, tokensAfter }) =>
      [fate, number(own), shown(tokensBefore), shown(tokensAfter)].join(" "),
    ),
    ["all", number(items), shown(view.tokensBefore + outsideTokens / scale), number(tokens)].join(" "),
  ];
}

async function width(locator: ReturnType<Page["locator"]>): Promise<number> {
  return (await locator.boundingBox())?.width ?? 0;
}

function activeKey(page: Page): Promise<string | null> {
  return page.locator(".band.active").getAttribute("data-key");
}

/** Scrolls until a band is in the page: only what is near the screen is. */
async function scrollTo(page: Page, key: string): Promise<void> {
  const scroller = page.locator(".scroller");
  for (let topPx = 0; topPx < 20_000; topPx += 400) {
    await scroller.evaluate((element, top) => {
      element.scrollTop = top;
    }, topPx);
    await page.waitForTimeout(30);
    if ((await page.locator(`[data-key="${key}"]`).count()) > 0) {
      await page.locator(`[data-key="${key}"]`).scrollIntoViewIfNeeded();
      return;
    }
  }
  throw new Error(`${key} is nowhere`);
}
