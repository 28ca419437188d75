import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import type { OpenCodeScreen } from "../../test/rig/opencode/opencode-tui.ts";
import { LONG_WINDOW, type Sandbox, scriptedConfig } from "../../test/rig/opencode/sandbox.ts";
import { withPalette } from "./palette.ts";
import { terminalHtml } from "./terminal-html.ts";

/** Writes what stands on a screen now as a picture of the docs. */
export async function photographScreen({ browser, screen, sandbox, name, title }: Photograph): Promise<void> {
  const page = await browser?.newPage({ viewport: { width: 1_400, height: 1_100 }, deviceScaleFactor: 1.5 });
  if (page === undefined || screen === undefined) return;
  // The sandbox's folder is another one each time.
  const { project } = sandbox;
  const shown = screen.coloured().replaceAll(project, "~/project".padEnd(project.length));
  await page.setContent(terminalHtml(shown, { title }));
  mkdirSync("docs/pictures", { recursive: true });
  const file = `docs/pictures/${name}.png`;
  await page.locator("figure").screenshot({ path: file });
  writeFileSync(file, withPalette(readFileSync(file)));
  await page.close();
  console.log(`docs/pictures/${name}.png`);
}

interface Photograph {
  readonly browser: Browser | undefined;
  readonly screen: OpenCodeScreen | undefined;
  readonly sandbox: Sandbox;
  /** Of the file, without its ending. */
  readonly name: string;
  readonly title: string;
}

/** The scripted model with the prices of a real one, so that a cost is seen. */
export function pricedProvider(modelUrl: string): object {
  const { provider } = scriptedConfig({ modelUrl }) as {
    readonly provider: Record<string, { name: string; models: Record<string, Record<string, unknown>> }>;
  };
  const priced = provider.scripted?.models[LONG_WINDOW.modelID];
  if (priced !== undefined)
    Object.assign(priced, {
      name: "Model",
      cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
    });
  return provider;
}
