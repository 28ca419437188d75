import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInspection } from "../../src/inspector/view/inspection.ts";
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

/** What has the focus, and how its outline is drawn. */
const FOCUS_MARK = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return ["", ""];
  const name = element.id || element.className || element.textContent;
  return [name, getComputedStyle(element).outlineStyle];
})()`;

const DURATIONS = `[...new Set([...document.querySelectorAll(".curtain, .kind-bar button, .band")]
  .map((element) => getComputedStyle(element).transitionDuration))]`;
