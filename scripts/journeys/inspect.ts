import { existsSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { runCli } from "../../src/cli/cli.ts";
import type { Journey } from "./journey.ts";

/** `carryover inspect <session> --open`, until the page has drawn the session. */
export const travel: Journey = async ({ recordFunctions, buildPage, root }) => {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
  if (executablePath === undefined) return undefined;
  // Where the command looks for it, seen from the folder of this bundle.
  const folder = `${root}reports/inspector`;
  await buildPage(folder, { sourcemap: "hidden" });
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu"],
    handleSIGINT: false,
  });
  const page = await browser.newPage();
  // The engine then runs on the page itself, where its functions are counted.
  await page.addInitScript("delete globalThis.Worker");
  const profiler = await page.context().newCDPSession(page);
  const takeCoverage = () => profiler.send("Profiler.takePreciseCoverage");
  await profiler.send("Profiler.enable");
  await profiler.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // The journey in the page begins with its first request: before that its modules set up their tables.
  await page.route("**/api/token", async (route) => {
    await takeCoverage();
    await route.continue();
  });
  process.env.BROWSER = "true";
  const address = printedAddress();
  // The command line loads a verb when it is named. Loaded before, since what modules run while they load does not count.
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
  // Where the sources of the map are seen from: the folder in which vite would have written the script.
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
