import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { readPageAssets } from "../../../src/inspector/server/page-assets.ts";
import { renderSingleFile } from "../../../src/inspector/server/page-html.ts";
import type { InspectedSession } from "../../../src/inspector/view/types.ts";

/** Debian's browser, where it is installed. */
export const chromiumPath: string | undefined = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => existsSync(path),
);

if (chromiumPath === undefined)
  console.log("skipped: the inspector's page needs Chromium, which is not here");

/** A real browser with the page as it is in the sources right now. The working folder is the project. */
export async function startPageRig(): Promise<PageRig> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-page-"));
  execFileSync(process.execPath, ["scripts/build-page.mjs", `${folder}/`], { stdio: "inherit" });
  const assets = await readPageAssets([pathToFileURL(`${folder}/`)]);
  const browser = await chromium.launch({
    ...(chromiumPath && { executablePath: chromiumPath }),
    args: FLAGS,
  });
  let files = 0;
  return {
    browser,
    assets,
    async open(session, { html = (made: string) => made, before = "", ...options } = {}) {
      const file = join(folder, `session-${files++}.html`);
      writeFileSync(file, html([...renderSingleFile(session, assets)].join("")));
      const context = await browser.newContext({ viewport: { width: 1_400, height: 900 }, ...options });
      const page = await context.newPage();
      await page.addInitScript(before);
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
      });
      page.on("request", (request) => {
        // A blob is the page's own script again, in its worker.
        if (!/^(file|data|blob):/.test(request.url())) problems.push(`asked for ${request.url()}`);
      });
      await page.goto(pathToFileURL(file).href);
      await page.locator(".strata").waitFor();
      return { page, problems };
    },
    async stop() {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface PageRig {
  readonly browser: Browser;
  readonly assets: Awaited<ReturnType<typeof readPageAssets>>;
  /** Opens a session as the single file that `--html` writes. */
  open(session: InspectedSession, options?: OpenOptions): Promise<OpenedPage>;
  stop(): Promise<void>;
}

export interface OpenOptions extends BrowserContextOptions {
  /** What else the file should be. */
  readonly html?: (made: string) => string;
  /** A script that runs before the page's own. */
  readonly before?: string;
}

export interface OpenedPage {
  readonly page: Page;
  /** Errors, warnings, breaches of the content security policy and requests to anywhere. */
  readonly problems: readonly string[];
}

const FLAGS: string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-lcd-text",
];
