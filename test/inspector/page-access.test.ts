import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInspection } from "../../src/inspector/view/inspection.ts";
import { KINDS } from "../../src/inspector/view/kinds.ts";
import type { InspectedSession } from "../../src/inspector/view/types.ts";
import { chromiumPath, type PageRig, startPageRig } from "./support/page-rig.ts";
import { seriousFindings } from "./support/serious-findings.ts";
import { exampleSession } from "./support/sessions.ts";

describe.skipIf(chromiumPath === undefined)("the page is for everybody", () => {
  let rig: PageRig;
  let session: InspectedSession;
  beforeAll(async () => {
    rig = await startPageRig();
    session = await exampleSession();
  });
  afterAll(() => rig?.stop());

  it("can be used with the keyboard alone", async () => {
    const { page, problems } = await rig.open(session);
    const press = async (...keys: readonly string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = (): Promise<string> =>
      page.locator(":focus").evaluate((element) => element.id || element.className || element.tagName);

    await press("?");
    await page.getByRole("dialog").waitFor();
    await press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Help" }).focus();
    await press("Enter");
    await page.getByRole("dialog").waitFor();
    await press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.locator(":focus").getAttribute("aria-label")).toBe("Help");

    await page.locator(".scroller").focus();
    await press("Home", "Enter");
    await expect.poll(() => page.locator(".band").first().textContent()).toMatch(/^message 1 /);
    await page.getByRole("button", { name: "Fold earlier" }).click();

    await press("/");
    await page.keyboard.type("rounding");
    const matches = createInspection(session).search("rounding");
    await expect.poll(() => page.locator(".search output").innerText()).toBe(`${matches.length} items`);
    await press("Enter");
    await expect.poll(() => page.locator(".band.active").getAttribute("data-key")).toBe(matches[0]?.key);
    await press("Escape");
    await expect.poll(focused).toBe("scroller");

    const described = async (): Promise<string> => {
      const id = await page.locator(".scroller").getAttribute("aria-activedescendant");
      return (await page.locator(`[id="${id}"]`).textContent()) ?? "";
    };
    await press("Home");
    await expect.poll(described).toMatch(/^message 1 user.* summarized [\d,]+ → 0 tokens\. Older than/);
    await press("ArrowRight", "ArrowDown");
    await expect.poll(described).toMatch(/^message 2 agent .*agent I will look at the project first\./);
    expect(await page.locator(".card").innerText()).toContain("stage");
    await press("End");
    await expect.poll(described).toMatch(/^message 50 /);

    await press("Home", "Enter");
    await page.getByLabel("Text before").waitFor();
    await press("?", "Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByLabel("Text before").waitFor();
    await press("Escape");
    await expect.poll(() => page.getByRole("tab", { selected: true }).innerText()).toBe("Fills");

    await press("c");
    await page.locator("#policy-b").waitFor();
    await page.locator("#tab-fills").focus();
    await press("ArrowRight", "ArrowRight", "ArrowRight");
    await expect.poll(focused).toBe("tab-child");
    await page.locator("#time").focus();
    await press("ArrowLeft");
    await expect.poll(() => page.locator(".time output").innerText()).toContain("message 49 of 50");
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("shows where the focus is, all the way through", async () => {
    const { page } = await rig.open(session);
    const seen = new Set<string>();
    for (let at = 0; at < 25; at++) {
      await page.keyboard.press("Tab");
      const [name, outline] = (await page.evaluate(FOCUS_MARK)) as readonly [string, string];
      if (name === "") break;
      seen.add(name);
      expect(`${name} ${outline}`).toBe(`${name} solid`);
    }
    expect([...seen].length).toBeGreaterThan(6);
    await page.context().close();
  });

  it("does not move for people who asked for that", async () => {
    const { page } = await rig.open(session, { reducedMotion: "reduce" });
    expect(await page.evaluate(DURATIONS)).toEqual(["0s"]);
    await page.context().close();
  });

  it.each(["light", "dark"] as const)(
    "has no serious finding of axe in the %s scheme",
    async (colorScheme) => {
      const { page } = await rig.open(session, { colorScheme, viewport: { width: 1_400, height: 1_600 } });
      expect(await page.locator("html").getAttribute("data-theme")).toBe(colorScheme);
      const found: string[] = [];
      const look = async (where: string): Promise<void> => {
        found.push(...(await seriousFindings(page)).map((finding) => `${where}: ${finding}`));
      };
      await look("first");
      await page.selectOption("#policy-a", "fill");
      await page.locator("#exact-a").fill("40000");
      await page.locator("#exact-a").press("Enter");
      await page
        .locator(".band", { has: page.locator(".badge.clipped") })
        .first()
        .click();
      await page.getByLabel("Text before").waitFor();
      await look("before and after");
      await page.keyboard.press("c");
      await page.locator(".strata[data-compare=on]").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("refund");
      await page.locator(".band.match").first().waitFor();
      await page.getByRole("tab", { name: "Fills" }).click();
      await look("compare and search");
      await page.getByRole("tab", { name: "Child" }).click();
      await page.getByLabel("What a child would read").waitFor();
      await look("child");
      await page.getByRole("tab", { name: "Lost" }).click();
      await page.getByLabel("The summary", { exact: true }).waitFor();
      await look("compaction");
      await page.getByRole("button", { name: "Help" }).click();
      await page.getByRole("dialog").waitFor();
      await look("help");
      await page.keyboard.press("Escape");
      await page.setViewportSize({ width: 640, height: 900 });
      await look("narrow");
      expect(found).toEqual([]);
      await page.context().close();
    },
  );

  it.each([900, 640])("has no sideways scrolling at %d pixels", async (width) => {
    const { page } = await rig.open(session, { viewport: { width, height: 800 } });
    await page.keyboard.press("c");
    const overhang = await page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(overhang).toBeLessThanOrEqual(0);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === undefined)("the page on paper and on a phone", () => {
  let rig: PageRig;
  let session: InspectedSession;
  beforeAll(async () => {
    rig = await startPageRig();
    session = await exampleSession();
  });
  afterAll(() => rig?.stop());

  it("prints head, bars, the beginning of the list and whole tables, and cuts nothing", async () => {
    // As wide as a sheet of A4 between its margins.
    const { page } = await rig.open(session, { viewport: { width: 718, height: 1_000 } });
    const rows = await page.locator("#panel-body tr").count();
    await page.emulateMedia({ media: "print" });
    for (const part of [".head h1", ".figure", ".kind-bar", ".answers", ".chart canvas", "#by-status"])
      expect(await visibleBox(page, part), part).toMatchObject({ isWithin: true });
    expect(await page.locator(".band").count()).toBeGreaterThan(15);
    const list = await page.locator(".scroller").boundingBox();
    expect(list?.height).toBeGreaterThan(500);
    expect(await page.evaluate(PAINTED)).toEqual(["exact", "exact", "exact"]);
    expect(await page.evaluate(TABLES)).toEqual({ cutPx: 0, overflow: "visible", rows });
    expect(await page.locator(".controls").isVisible()).toBe(false);
    const pdf = (await page.pdf({ format: "A4", margin: { left: "1cm", right: "1cm" } })).toString("latin1");
    expect(pdf.match(/\/Type\s*\/Page\b/g)?.length).toBeGreaterThan(1);
    await page.context().close();
  });

  it("gives each kind a texture of its own, but for outputs and what the user typed, the darkest", async () => {
    const { page } = await rig.open(session);
    const textures = await page.evaluate(`Object.fromEntries(${JSON.stringify(KINDS)}.map((kind) => {
      const swatch = document.body.appendChild(document.createElement("i"));
      swatch.className = "kind kind-" + kind.replace(" ", "-");
      return [kind, getComputedStyle(swatch).getPropertyValue("--texture").trim()];
    }))`);
    const { user, "tool output": output, ...others } = textures as Record<string, string>;
    expect({ user, output }).toEqual({ user: "none", output: "none" });
    expect(Object.values(others)).not.toContain("none");
    expect(new Set(Object.values(others)).size).toBe(KINDS.length - 2);
    await page.context().close();
  });

  it("opens a text over the list on a phone, where it can be read, and closes it", async () => {
    const { page } = await rig.open(session, { viewport: { width: 390, height: 844 } });
    await page.locator(".band.item").nth(2).click();
    await page.getByLabel("Text before").waitFor();
    expect(await visibleBox(page, ".panel.item")).toMatchObject({ isWithin: true, isOnScreen: true });
    expect(await visibleBox(page, "#panel-body .pane")).toMatchObject({ isWithin: true, isOnScreen: true });
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator(".panel.item").waitFor({ state: "detached" });
    for (const tab of ["Cost", "Lost", "Child", "Policies", "Fills"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.waitForTimeout(300);
      const overhang = await page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
      expect(overhang, tab).toBeLessThanOrEqual(0);
      const cut = await page.locator("#panel-body").evaluate((body) => body.scrollWidth - body.clientWidth);
      expect(cut, tab).toBeLessThanOrEqual(0);
    }
    await page.context().close();
  });

  it.each([
    { width: 1_024, height: 768 },
    { width: 1_440, height: 900 },
    { width: 2_560, height: 1_440 },
  ])("has room for the list and the tables at $width × $height", async (viewport) => {
    const { page } = await rig.open(session, { viewport });
    const list = await page.locator(".scroller").boundingBox();
    expect(list?.height).toBeGreaterThan(200);
    for (const part of [".kind-bar", ".answers", ".chart canvas", "#by-status"])
      expect(await visibleBox(page, part), part).toMatchObject({ isWithin: true });
    await page.context().close();
  });
});

/** Whether an element is as wide as it may be, and on the screen. */
async function visibleBox(page: Page, selector: string): Promise<object> {
  return page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const { left, right, top, bottom, width, height } = element.getBoundingClientRect();
      const { clientWidth, clientHeight } = element.ownerDocument.documentElement;
      return {
        isWithin: width > 0 && height > 0 && left >= 0 && right <= clientWidth + 1,
        isOnScreen: top < clientHeight && bottom <= clientHeight + 1,
      };
    });
}

const PAINTED = `[".kind-bar .kind", ".track .sent", ".badge"]
  .map((bar) => getComputedStyle(document.querySelector(bar)).printColorAdjust)`;

const TABLES = `(() => {
  const body = document.querySelector("#panel-body");
  return {
    cutPx: body.scrollHeight - body.clientHeight,
    overflow: getComputedStyle(body).overflowY,
    rows: body.querySelectorAll("tr").length,
  };
})()`;

/** What has the focus, and how its outline is drawn. */
const FOCUS_MARK = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return ["", ""];
  const name = element.id || element.className || element.textContent;
  return [name, getComputedStyle(element).outlineStyle];
})()`;

const DURATIONS = `[...new Set([...document.querySelectorAll(".curtain, .kind-bar button, .band")]
  .map((element) => getComputedStyle(element).transitionDuration))]`;
