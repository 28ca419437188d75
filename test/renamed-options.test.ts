import { describe, expect, it } from "vitest";
import { carryover } from "../src/ai-sdk.ts";
import { truncateToolContent } from "../src/documented.ts";
import * as main from "../src/index.ts";
import { carryoverMiddleware } from "../src/langchain.ts";
import { transcript } from "./rig/notation.ts";

const outputs = main.createMemoryOutputStore();
const clock = main.createSystemClock();
const model = { specificationVersion: "v3", provider: "p", modelId: "m", doGenerate() {}, doStream() {} };

/** Old names as somebody would still give them, by any way in. */
const RENAMED: readonly (readonly [string, string, () => unknown])[] = [
  ["spills", "give outputs", () => main.createSession({ clock, spills: outputs } as never)],
  ["store.spills", "give outputs", () => carryover(model as never, { store: { spills: outputs } } as never)],
  ["store.spills", "give outputs", () => carryoverMiddleware({ store: { spills: outputs } } as never)],
  ["directive", "give task", () => main.forkContext(transcript("u:1"), { directive: "Go." } as never)],
];

describe("an option that was renamed", () => {
  it.each(RENAMED)("%s is refused with what to give", (name, advice, call) => {
    expect(call).toThrow(`${name} is not an option; ${advice}`);
  });

  it("spillTruncated is refused with what to give", async () => {
    const call = truncateToolContent([{ type: "text", text: "a" }], {}, outputs, {
      spillTruncated: "on",
    } as never);
    await expect(call).rejects.toThrow("spillTruncated is not an option; give saveTruncated");
  });
});
