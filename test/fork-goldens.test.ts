import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildForkPreamble, formatMessagesAsContext } from "../src/fork/context/format.ts";
import { processMessagesForFork } from "../src/fork/fork.ts";
import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";

const recordings = join(import.meta.dirname, "recordings/opencode");

describe("what a child inherits of each recorded session", () => {
  it.each(readdirSync(recordings).filter((name) => name.endsWith(".json")))("%s", async (name) => {
    const { messages } = JSON.parse(readFileSync(join(recordings, name), "utf8")) as {
      messages: SessionMessage[];
    };
    const processed = processMessagesForFork(opencode.decode(messages));
    const { text, stats } = formatMessagesAsContext(processed.messages, processed.stats);
    const golden = `${buildForkPreamble(stats)}\n\n${text}\n\n${JSON.stringify(stats, null, 2)}\n`;
    await expect(golden).toMatchFileSnapshot(
      join(import.meta.dirname, "goldens/fork", name.replace(".json", ".txt")),
    );
  });
});
