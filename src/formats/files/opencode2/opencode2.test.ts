import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { asArray, asObject, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { opencode2 } from "./opencode2.ts";

function recorded(name: string): { readonly messages: readonly UnknownObject[] } {
  const file = new URL(`../../../../test/recordings/opencode2/${name}.json`, import.meta.url);
  return deepFreeze(JSON.parse(readFileSync(file, "utf8")));
}

describe("reading", () => {
  it("plain-tools: texts, reasoning, calls with their results, a failed one", () => {
    const transcript = opencode2.decode(recorded("plain-tools"));
    expect(notate(transcript)).toMatchInlineSnapshot(
      `"u:12 a:7(read:43) a(shell:9284,nosuch!20,write:34) a:5 u:10 a:16"`,
    );
    expect(transcript[1]).toMatchObject({
      role: "assistant",
      finish: "tool-calls",
      model: { provider: "scripted", id: "long-window" },
      usage: { outputTokens: expect.any(Number), cacheReadTokens: 0 },
    });
  });

  it("compactions: the newest summary with the turns it kept as text, and what came since", () => {
    const transcript = opencode2.decode(recorded("compactions"));
    expect(notate(transcript)).toMatchInlineSnapshot(
      `"u:5 a(shell:34) a:14 u:6 a(shell:35) a:15 u:5 a(shell:34) a:14 m s:187 u:23 u:32 a:18 u:13 a:16 u:6 a(shell:35) a:15 m s:183 u:5 a(shell:34) a:14"`,
    );
    expect(notate(filterCompacted(transcript))).toMatchInlineSnapshot(`"m s:183 u:5 a(shell:34) a:14"`);
  });

  it("failed-compaction: one that failed is nothing to the model", () => {
    expect(notate(opencode2.decode(recorded("failed-compaction")))).toMatchInlineSnapshot(
      `"u:6 a:4 u:8 a:11"`,
    );
  });

  it("never throws, and keeps what it does not know", () => {
    const wire = deepFreeze([null, 7, { type: "idle" }, { type: "assistant", content: [{ type: "x" }, 3] }]);
    const [answer] = opencode2.decode(wire);
    expect(answer?.parts.map(({ type }) => type)).toEqual(["opaque", "opaque"]);
    expect(opencode2.decode({ messages: "none" })).toEqual([]);
  });
});

describe("writing", () => {
  it("an output that was cut stays a result that the host takes, and nothing else changes", () => {
    const wire = recorded("plain-tools");
    const transcript = opencode2.decode(wire);
    const message = transcript[2];
    const partIndex = message?.parts.findIndex((part) => part.type === "tool" && part.tool === "shell") ?? -1;
    const edit: Edit = {
      type: "hide-part",
      what: "output",
      messageId: message?.id ?? "",
      partIndex,
      stage: "test",
      reason: "pruned",
    };
    const edited = opencode2.apply(wire, [edit], { at: 1 }) as typeof wire;
    expect(edited.messages.filter((each, index) => each !== wire.messages[index])).toHaveLength(1);
    const stored = asObject(asArray(edited.messages[2]?.content)[partIndex]);
    expect(asObject(stored.state)).toMatchObject({
      status: "completed",
      content: [{ type: "text", text: "[Old tool result content cleared]" }],
    });
  });
});
