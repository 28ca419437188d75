import { expect, it } from "vitest";
import { openCodeExport, type Step } from "../../../test/rig/bound-thinking/bound-files.ts";
import type { SessionExport, SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { messagesOf, opencode } from "../../formats/wires/opencode/opencode.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { editsOfFile } from "./file-compaction-edits.ts";
import { compactFileWithoutModel } from "./plan-file-compaction.ts";

const MODEL = { provider: "anthropic", id: "claude-opus-5-5" };

it("lets a tail of OpenCode begin behind an answer of nothing but thoughts that are left out", () => {
  const steps = Array.from(
    { length: 12 },
    (_, number): Step => ({
      ...{ number, id: `call_${number}`, input: {}, output: "grey ".repeat(400) },
      thinking: { thinking: "Hm. ".repeat(400), signature: "s" },
    }),
  );
  const session = openCodeExport(steps, MODEL.id) as SessionExport;
  const stopped = "msg_0008";
  // The user stopped it before it said anything.
  const said = messagesOf(session).map(
    (message): SessionMessage =>
      message.info.id === stopped ? { ...message, parts: message.parts.slice(0, 1) } : message,
  );
  const asked: SessionMessage = {
    info: { id: "msg_z", role: "user", sessionID: "ses_bound", time: { created: 20 } },
    parts: [{ type: "text", text: "And now?" }],
  };
  const wire = [...said, asked];
  const transcript = opencode.decode(wire);
  let found = 0;
  for (let keepTokens = 5_000; keepTokens < 9_000; keepTokens += 250) {
    const compacted = compactFileWithoutModel(
      { transcript, format: "opencode" },
      { windowTokens: 200_000, keepTokens },
    );
    if (compacted.status !== "compacted" || compacted.plan.firstKeptId !== stopped) continue;
    found++;
    const edits = editsOfFile(compacted.edits, compacted.plan, { format: "opencode", reader: MODEL });
    const written = messagesOf(opencode.apply(wire, edits, { at: 30 }));
    const window = filterCompacted(opencode.decode(written.toSorted(byTime)));
    expect(window.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["msg_0009", "msg_0010", "msg_0011", "msg_z"]),
    );
    expect(JSON.stringify(window)).not.toContain("Hm.");
  }
  expect(found).toBeGreaterThan(0);
});

/** As OpenCode reads them. */
function byTime(one: SessionMessage, other: SessionMessage): number {
  const timeOf = ({ info }: SessionMessage) => (info.time as { readonly created: number }).created;
  return timeOf(one) - timeOf(other);
}
