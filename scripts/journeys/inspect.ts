import { existsSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { runCli } from "../../src/cli/cli.ts";
import type { Journey } from "./journey.ts";

/** `carryover inspect <session> --open`, until the page has drawn the session. */
export const travel: Journey = async ({ recordFunctions, buildPage, root }) => {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
  if (executablePath === undefined) return undefined;
  const folder = `${root}reports/journeys/inspector`;
  await buildPage(folder, { sourcemap: "hidden" });
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu"],
    handleSIGINT: false,
  });
  const page = await browser.newPage();
  // The engine then runs on the page itself, where its functions are counted.
  await page.addInitScript("delete globalThis.Worker");
  await page.coverage.startJSCoverage();
  process.env.BROWSER = "true";
  const address = printedAddress();
  const command = await recordFunctions(import.meta.url, async () => {
    const ended = runCli(["inspect", `${root}examples/sessions/opencode-session.json`, "--open"], "0.0.0");
    await page.goto(await address);
    await page.locator(".strata").waitFor();
    process.emit("SIGINT");
    await ended;
  });
  // Where the sources of the map are seen from: the folder in which vite would have written the script.
  const base = `${root}src/inspector/page/dist`;
  const scripts = await page.coverage.stopJSCoverage();
  await browser.close();
  const { functions = [], source = "" } = scripts.find(({ url }) => url.endsWith("/app.js")) ?? {};
  return [command, { functions, source, map: readFileSync(`${folder}/app.js.map`, "utf8"), base }];
};

/** The address that the command prints. */
function printedAddress(): Promise<string> {
  return new Promise((resolve) => {
    for (const stream of [process.stdout, process.stderr]) {
      const write = stream.write.bind(stream);
      stream.write = ((text: string, ...rest: []) => {
        const found = /Page: (http\S+)/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
        return write(text, ...rest);
      }) as typeof stream.write;
    }
  });
}
