import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, it } from "vitest";
import { installProgram, npmInstall, rigFolder } from "../rig/install-program.ts";
import { GEMINI_LOOPS, type GoogleProvider, loopThatHolds } from "./harness/gemini-loop.ts";

// The newest version that sends no stand-in for a signature that is missing: there the rule shows as a refusal.
const VERSION = "3.0.43";

const provider = await load().catch((cause: unknown) => {
  console.log(`skipped: @ai-sdk/google ${VERSION} (${(cause as Error).message})`);
  if (process.env.CI === "true") throw cause;
  return undefined;
});

describe.skipIf(provider === undefined)(`a long tool loop with @ai-sdk/google ${VERSION}`, () => {
  it.each(GEMINI_LOOPS)(
    "$parallel calls a step, $way, restarts $restarts: nothing is refused",
    async (loop) => {
      if (provider !== undefined) await loopThatHolds({ ...loop, provider });
    },
  );
});

async function load(): Promise<GoogleProvider> {
  const path = await installProgram({
    folder: join(rigFolder(), `google-${VERSION}`),
    program: "node_modules/@ai-sdk/google/dist/index.mjs",
    fetch: (folder) => npmInstall(folder, `@ai-sdk/google@${VERSION}`, "zod@4.6.7"),
  });
  return (await import(pathToFileURL(path).href)) as GoogleProvider;
}
