import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { formatMessagesAsContext } from "../src/fork/format-messages-as-context.ts";
import { processMessagesForFork } from "../src/fork/process-messages-for-fork.ts";
import { opencode } from "../src/formats/opencode/opencode.ts";
import { wireMessage, wireText, wireTool } from "./support/opencode-wire.ts";

const fixture = resolve(import.meta.dirname, "../../shared/fixtures/hostile-inputs.mjs");
const isThere = existsSync(fixture);
if (!isThere)
  console.log("skipped: hostile texts through the fork (../shared/fixtures/hostile-inputs.mjs is not there)");

describe.skipIf(!isThere)("hostile text in an inherited context", async () => {
  const { texts } = isThere
    ? ((await import(pathToFileURL(fixture).href)) as { texts: () => { id: string; text: string }[] })
    : { texts: () => [] };

  it.each(texts().map(({ id, text }) => [id, text] as const))("%s", (_, hostile) => {
    const session = [
      wireMessage("user", [wireText(hostile)]),
      wireMessage("assistant", [
        wireText(hostile),
        wireTool(hostile, hostile, { input: { [hostile.slice(0, 40)]: hostile } }),
      ]),
      wireMessage("assistant", [wireTool("bash", "", { status: "error", error: hostile })]),
    ];
    const once = processMessagesForFork(opencode.decode(session));
    const { text } = formatMessagesAsContext(once.messages, once.stats);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
    const inside = text.slice("<inherited_context>".length, -"</inherited_context>".length);
    const folded = inside.normalize("NFKC").replace(/[\u00ad\u200b-\u200f\u2060-\u2069\ufeff]/g, "");
    expect(folded).not.toMatch(/<\s*\/?\s*inherited_context/i);
    expect(processMessagesForFork(once.messages).edits).toEqual([]);
  });
});
