import { existsSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { runCli } from "../../src/cli/cli.ts";
import type { Journey } from "./journey.ts";

/** `carryover inspect <session> --open`, until the page has drawn the session. */
export const travel: Journey = async ({ recordFunctions, buildPage, root }) => {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
  if (executablePath === undefined) return undefined;
  // Where the command looks for the page, relative to this bundle.
  const folder = `${root}reports/inspector`;
  await buildPage(folder, { sourcemap: "hidden" });
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu"],
    handleSIGINT: false,
  });
  const page = await browser.newPage();
  // Without workers the engine runs on the page, where its functions are counted.
  await page.addInitScript("delete globalThis.Worker");
  const profiler = await page.context().newCDPSession(page);
  const takeCoverage = () => profiler.send("Profiler.takePreciseCoverage");
  await profiler.send("Profiler.enable");
  await profiler.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // Start counting at the first request: before it, modules only initialize.
  await page.route("**/api/token", async (route) => {
    await takeCoverage();
    await route.continue();
  });
  process.env.BROWSER = "true";
  const address = printedAddress();
  // Import the lazily loaded verb first: code that runs at import does not count.
  await import("../../src/cli/inspect/inspect.ts");
  const command = await recordFunctions(import.meta.url, async () => {
    const ended = runCli(["inspect", `${root}examples/sessions/opencode-session.json`, "--open"], "0.0.0");
    const failed = ended.then((status) => {
      throw new Error(`the command ended with ${status} before it had a page`);
    });
    await page.goto(await Promise.race([address, failed]));
    failed.catch(() => {});
    await page.locator(".strata").waitFor();
    process.emit("SIGINT");
    await ended;
  });
  // The folder that source map paths are relative to.
  const base = `${root}src/inspector/page/dist`;
  const { result } = await takeCoverage();
  await browser.close();
  const { functions = [] } = result.find(({ url }) => url.endsWith("/app.js")) ?? {};
  const [source, map] = ["app.js", "app.js.map"].map((name) => readFileSync(`${folder}/${name}`, "utf8"));
  return [command, { functions, source: source ?? "", map, base }];
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
