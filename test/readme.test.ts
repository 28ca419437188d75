import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import * as formats from "../src/formats.ts";
import { anthropic } from "../src/formats.ts";
import * as carryover from "../src/index.ts";
import { conversation, SUMMARY } from "./rig/session.ts";

const readme = readFileSync(resolve(import.meta.dirname, "../docs/guide.md"), "utf8");

it("the guide's session sends a request that the provider takes, after a compaction too", async () => {
  const code = /## The next window\n\n```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const requests: unknown[] = [];
  const { messages } = anthropic.encode([...conversation(40), ...conversation(1, 10, "new")].slice(0, -1));
  const given = {
    ...carryover,
    ...formats,
    askModel: async () => SUMMARY,
    tools: [],
    messages,
    callModel: async (request: unknown) => requests.push(request),
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...args: string[]
  ) => (...given: unknown[]) => Promise<void>;
  // A window that these messages fill.
  const small = code.replace("200_000", "40_000").replace(/^import .*$/gm, "");
  const run = new AsyncFunction(...Object.keys(given), small);
  await run(...Object.values(given));
  const [request] = requests as (ReturnType<typeof anthropic.encode> & { readonly model: string })[];
  expect(request?.model).toBe("claude-sonnet-4-5");
  expect(request?.messages[0]?.content).toEqual([{ type: "text", text: "What did we do so far?" }]);
  expect(JSON.stringify(requests)).toContain("Ship the parser.");
  expect(anthropic.faults(request ?? [])).toEqual([]);
});

it("README has the two commands of this repository", () => {
  const text = readFileSync(resolve(import.meta.dirname, "../README.md"), "utf8");
  expect(text).toContain("npm ci && npm start");
  expect(text).toContain("npm ci && npm test");
});
