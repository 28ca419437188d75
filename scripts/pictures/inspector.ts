import { mkdirSync, statSync } from "node:fs";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { InspectedSession } from "../../src/inspector/view/types.ts";
import { type PageRig, startPageRig } from "../../test/inspector/support/page-rig.ts";
import { exampleSession, longSession } from "../../test/inspector/support/sessions.ts";

// Pictures of the inspector's page with the recorded example, as `--html` writes it.
const MAX_BYTES = 300_000;
const rig: PageRig = await startPageRig();
mkdirSync("docs/pictures", { recursive: true });
try {
  await picture("inspector-light", { colorScheme: "light" }, showWindow);
  await picture("inspector-dark", { colorScheme: "dark" }, async (page) => {
    await choose(page, "a", { policy: "fill", budgetChars: 60_000 });
    await showMessage(page, 11);
    await page
      .locator(".band", { has: page.locator(".badge.clipped") })
      .first()
      .hover();
  });
  await picture("inspector-before-after", { colorScheme: "light" }, async (page) => {
    await choose(page, "a", { policy: "fixed", budgetChars: 200_000 });
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
    await choose(page, "a", { policy: "fill", budgetChars: 60_000 });
    await choose(page, "b", { policy: "fixed", budgetChars: 60_000 });
    await showMessage(page, 10);
  });
  await picture("inspector-fork", { colorScheme: "light" }, async (page) => {
    await choose(page, "a", { policy: "fixed", budgetChars: 200_000 });
    await showMessage(page, 12);
    await page.getByRole("tab", { name: "Child" }).click();
    await page.selectOption("#child-profile", "documented");
    await page.locator("input[value=text]").check();
    await page.getByLabel("What a child would read, text").waitFor();
  });
  await picture(
    "inspector-10000",
    { colorScheme: "light" },
    async (page) => {
      await choose(page, "a", { policy: "fill", budgetChars: 200_000 });
      await page.locator(".badge.clipped").first().waitFor();
    },
    longSession(10_000),
  );
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
  await page.screenshot({ path });
  await page.context().close();
  const bytes = statSync(path).size;
  console.log(`${path}: ${bytes} bytes`);
  if (problems.length > 0 || bytes > MAX_BYTES)
    throw new Error(`${name}: ${bytes} bytes, ${problems.join("; ")}`);
}

/** What was sent, with the reason why one of the large results was not. */
async function showWindow(page: Page): Promise<void> {
  await showMessage(page, 4);
  await page
    .locator(".band", { has: page.locator(".badge.cleared") })
    .first()
    .hover();
}

interface Choice {
  readonly policy: string;
  readonly budgetChars: number;
}

async function choose(page: Page, side: "a" | "b", { policy, budgetChars }: Choice): Promise<void> {
  await page.selectOption(`#policy-${side}`, policy);
  await page.locator(`#exact-${side}`).fill(String(budgetChars));
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
