import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import type { Edit } from "../../../transcript/edit.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { type SweAgentWire, sweAgent } from "./swe-agent.ts";

function recorded(name: string): SweAgentWire {
  const file = new URL(`../../../../test/recordings/swe-agent/${name}.traj.json`, import.meta.url);
  return deepFreeze(JSON.parse(readFileSync(file, "utf8")));
}

describe("reading", () => {
  it.each([
    { name: "text", notation: "y:15 u:19 u:39 a:16(bash:35) a:8(bash:53) a:7(bash:37) a:11(bash?)" },
    { name: "calls", notation: "y:15 u:19 u:39 a:16(bash:35) a:8(open:53) a:7(edit:37) a:11(submit:33)" },
  ])("an observation is the result of the action before it: $name", ({ name, notation }) => {
    expect(notate(sweAgent.decode(recorded(name)))).toBe(notation);
  });

  it("reads a run of which only the steps were kept", () => {
    const { history: _, ...run } = recorded("text");
    expect(notate(sweAgent.decode(run))).toBe("a:16(bash:11) a:8(bash:29) a:7(bash:13) a:11(bash:0)");
  });
});

describe("writing", () => {
  it("takes a step out of the trajectory with its message, and no other", () => {
    const wire = recorded("calls");
    const messageId = sweAgent.decode(wire)[4]?.id ?? "";
    const edit: Edit = {
      type: "hide-part",
      what: "output",
      messageId,
      partIndex: 1,
      stage: "test",
      reason: "pruned",
    };
    const { history, trajectory } = sweAgent.apply(wire, [edit], { at: 1 });
    expect(JSON.stringify(history)).not.toContain("line.split");
    expect(JSON.stringify(trajectory)).not.toContain("line.split");
    expect(trajectory).toHaveLength(3);
    expect(history).toHaveLength((wire.history as unknown[]).length);
  });
});

it("an observation that names a call which the action before it does not have is that of the action", () => {
  const action = { role: "assistant", content: "look", thought: "look", action: "ls", tool_calls: [] };
  const wire = deepFreeze({
    history: [
      { role: "user", content: "fix" },
      action,
      { role: "tool", content: "file.txt", tool_call_ids: ["call_1"] },
    ],
  });
  const transcript = sweAgent.decode(wire);
  expect(notate(transcript)).toBe("u:3 a:4(bash:8)");
  const after = sweAgent.apply(wire, [clearedOutput(transcript)], { at: 1 });
  expect(sweAgent.decode(after)[1]?.parts[1]).toMatchObject({ outcome: { status: "done" } });
  expect(sweAgent.faults(after)).toEqual([]);
});

it("an action that is run again keeps its own observation when another part is edited", () => {
  const action = { role: "assistant", content: "look\n```\nls\n```", thought: "look", action: "ls" };
  const seen = (content: string) => ({ role: "user", content });
  const wire = deepFreeze({
    history: [seen("fix"), action, seen("one.txt"), action, seen("one.txt two.txt")],
  });
  const transcript = sweAgent.decode(wire);
  expect(notate(transcript)).toBe("u:3 a:4(bash:7) a:4(bash:15)");
  const after = sweAgent.decode(sweAgent.apply(wire, [clearedOutput(transcript)], { at: 1 }));
  expect(after[2]?.parts[1]).toMatchObject({ outcome: { status: "done", output: "one.txt two.txt" } });
});

/** Clears the output of the first action. */
function clearedOutput([, action]: Transcript): Edit {
  const where = { messageId: action?.id ?? "", partIndex: 1 };
  return { type: "hide-part", what: "output", ...where, stage: "test", reason: "pruned" };
}
