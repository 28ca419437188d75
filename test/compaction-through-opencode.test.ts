import { expect, it } from "vitest";
import { compact } from "../src/compaction/compact.ts";
import { planCompaction } from "../src/compaction/plan/plan-compaction.ts";
import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { applyEdits } from "../src/transcript/edit.ts";
import { project } from "../src/transcript/message.ts";
import { createFakeClock, createFakeSummarizer } from "./rig/fakes.ts";
import { wireMessage, wireText, wireTool } from "./rig/opencode-wire.ts";

const turns = (count: number, tag: string): readonly SessionMessage[] =>
  Array.from({ length: count }, (_, n) => [
    wireMessage("user", [wireText(`${tag} request ${n}: look at src/${tag}-${n}.ts`)]),
    wireMessage("assistant", [
      wireTool("read", `contents of ${tag} ${n} `.repeat(400), { input: { filePath: `src/${tag}-${n}.ts` } }),
      wireText(`done ${n}`),
    ]),
  ]).flat();

async function compactWire(wire: readonly SessionMessage[]) {
  const plan = planCompaction({ transcript: opencode.decode(wire), trigger: "manual", tailTokens: 500 });
  if (!("request" in plan)) throw new Error(`nothing to compact: ${JSON.stringify(plan)}`);
  const outcome = await compact(
    plan,
    { summarizer: createFakeSummarizer("## Goal\nFix the files."), clock: createFakeClock() },
    { at: 9 },
  );
  if (outcome.status !== "compacted") throw new Error(`not compacted: ${outcome.reason}`);
  return { outcome, wire: opencode.apply(wire, outcome.edits, { at: 9 }) };
}

it("a compaction applied to OpenCode's messages reads back as the same window, and the next one carries its facts on", async () => {
  const first = await compactWire(turns(12, "alpha"));
  const decoded = opencode.decode(first.wire);
  expect(decoded.map((message) => message.id)).toEqual(
    project(first.outcome.messages).map((message) => message.id),
  );

  const second = await compactWire([...first.wire, ...turns(12, "beta")]);
  const text = JSON.stringify(project(applyEdits(opencode.decode(second.wire), [], { at: 9 })));
  expect(text).toContain("alpha request 0");
  expect(text).toContain("src/alpha-0.ts");
  expect(text).toContain("beta request 11");
});
