import { mkdirSync, writeFileSync } from "node:fs";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { InspectedSession } from "../../src/inspector/view/types.ts";
import { type PageRig, startPageRig } from "../../test/inspector/support/page-rig.ts";
import { exampleSession } from "../../test/inspector/support/sessions.ts";
import { madeSession } from "./made-session.ts";
import { withPalette } from "./palette.ts";

// Pictures of the inspector's page as `--html` writes it: with a made session that has all there is to see, and with the recorded example.
const MAX_BYTES = 130_000;
const rig: PageRig = await startPageRig();
mkdirSync("docs/pictures", { recursive: true });
try {
  await picture("inspector-light", { colorScheme: "light" }, showWindow, await madeSession());
  await picture(
    "inspector-dark",
    { colorScheme: "dark" },
    async (page) => {
      await page.getByRole("tab", { name: "Cost" }).click();
      await page.locator(".badge.kept").first().waitFor();
    },
    await madeSession(),
  );
  await picture("inspector-before-after", { colorScheme: "light" }, async (page) => {
    await choose(page, "a", { policy: "fixed", budgetTokens: 60_000 });
    await showMessage(page, 12);
    await page
      .locator(".band", { hasText: /read src\/csv\.mjs/ })
      .first()
      .click();
    await page.getByLabel("Text before").waitFor();
    await page.mouse.move(700, 20);
  });
  await picture("inspector-compare", { colorScheme: "light" }, async (page) => {
    await page.keyboard.press("c");
    await choose(page, "a", { policy: "fill", budgetTokens: 25_000 });
    await choose(page, "b", { policy: "fixed", budgetTokens: 25_000 });
    await showMessage(page, 10);
  });
  await picture("inspector-fork", { colorScheme: "light" }, async (page) => {
    await choose(page, "a", { policy: "fixed", budgetTokens: 60_000 });
    await showMessage(page, 12);
    await page.getByRole("tab", { name: "Child" }).click();
    await page.selectOption("#child-profile", "documented");
    await page.locator("input[value=text]").check();
    await page.getByLabel("What a child would read, text").waitFor();
  });
} finally {
  await rig.stop();
}

async function picture(
  name: string,
  options: BrowserContextOptions,
  arrange: (page: Page) => Promise<void>,
  session?: InspectedSession,
): Promise<void> {
  const path = `docs/pictures/${name}.png`;
  const { page, problems } = await rig.open(session ?? (await exampleSession()), {
    ...options,
    timezoneId: "UTC",
  });
  await arrange(page);
  await page.locator(".left[aria-busy=false]").waitFor();
  await page.waitForTimeout(600);
  const png = withPalette(await page.screenshot());
  writeFileSync(path, png);
  await page.context().close();
  const bytes = png.length;
  console.log(`${path}: ${bytes} bytes`);
  if (problems.length > 0 || bytes > MAX_BYTES)
    throw new Error(`${name}: ${bytes} bytes, ${problems.join("; ")}`);
}

/** The head of the page, and where the window begins in the list. */
async function showWindow(page: Page): Promise<void> {
  await page.locator(".chart canvas").waitFor();
  await page.mouse.move(700, 20);
}

interface Choice {
  readonly policy: string;
  readonly budgetTokens: number;
}

async function choose(page: Page, side: "a" | "b", { policy, budgetTokens }: Choice): Promise<void> {
  await page.selectOption(`#policy-${side}`, policy);
  await page.locator(`#exact-${side}`).fill(String(budgetTokens));
  await page.locator(`#exact-${side}`).press("Enter");
  await page.waitForTimeout(400);
  await page.locator(`#exact-${side}`).blur();
}

async function showMessage(page: Page, number: number): Promise<void> {
  const scroller = page.locator(".scroller");
  for (let topPx = 0; topPx < 20_000; topPx += 20) {
    await scroller.evaluate((element, top) => {
      element.scrollTop = top;
    }, topPx);
    const first = page.locator(".band.first", { hasText: new RegExp(`^message ${number} `) });
    const box = (await first.count()) > 0 ? await first.boundingBox() : null;
    const top = (await scroller.boundingBox())?.y ?? 0;
    if (box !== null && box.y - top < 40) return;
  }
}
