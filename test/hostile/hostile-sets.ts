import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type HostileText, hostileTexts } from "./hostile-texts.ts";

/** The hostile texts by where they are from: our own, and those of ../shared where it is there. */
export async function hostileSets(): Promise<Readonly<Record<string, readonly HostileText[]>>> {
  const fixture = resolve("../shared/fixtures/hostile-inputs.mjs");
  if (!existsSync(fixture)) {
    console.log("hostile texts of ../shared: not there, only our own are used");
    return { "our own": hostileTexts() };
  }
  const { texts } = (await import(pathToFileURL(fixture).href)) as { texts: () => readonly HostileText[] };
  return { "our own": hostileTexts(), "the shared": texts() };
}
