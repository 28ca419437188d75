import { describe, expect, it } from "vitest";
import { fileOf, workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Message } from "../../transcript/message.ts";
import { editedFiles, measureDrift } from "./measure-drift.ts";

const said = (id: string, text: string): Message => ({ id, role: "user", parts: [{ type: "text", text }] });
const call = (tool: string, input: unknown, output: string): Message => ({
  id: `${tool}-${JSON.stringify(input).length}-${output}`,
  role: "assistant",
  parts: [
    { type: "tool", callId: output, tool, input, outcome: { status: "done", output, attachments: [] } },
  ],
});

const steps = workingSession({ steps: 60 });
const transcript = deepFreeze([
  ...steps.slice(0, 20),
  said("u1", "Use tabs,   never spaces."),
  ...steps.slice(20, 40),
  said("u2", "And leave the tests alone."),
  ...steps.slice(40),
]);

describe("drift", () => {
  it("leaves the user's words and pins as they are after ten compactions, with or without a model", async () => {
    const { points } = await measureDrift({ transcript });
    const ours = points.filter(({ way }) => way === "local-summary" || way === "forgetful-model");
    expect(ours.map(({ compactions }) => compactions)).toEqual([1, 2, 5, 10, 1, 2, 5, 10]);
    for (const point of ours) expect(point).toMatchObject({ instructions: 1, pins: 1 });
    const last = points.find(({ way, compactions }) => way === "last-N" && compactions === 10);
    expect(last?.pins).toBe(0);
    expect(last?.instructions).toBeLessThan(1);
  });

  it("measures the summaries that stand in a session against what was before them", async () => {
    const summary: Message = { ...said("s", "They want tabs: Use tabs, never spaces."), summary: true };
    const { points } = await measureDrift({ transcript: [...transcript, summary, said("u3", "Go on.")] });
    const real = points.filter(({ way }) => way === "summaries");
    expect(real).toEqual([expect.objectContaining({ compactions: 1, instructions: 1 / 3, pins: undefined })]);
  });

  it("gives nothing for a short session", async () => {
    expect(await measureDrift({ transcript: steps.slice(0, 20) })).toEqual({ points: [], files: undefined });
  });
});

describe("what results say of files", () => {
  it("is read from the words of each agent's tools", () => {
    const messages = [
      call("Write", { file_path: "/w/a.ts" }, "File created successfully at: /w/a.ts"),
      call("Edit", { file_path: "/w/a.ts" }, "The file /w/a.ts has been updated successfully."),
      call("Edit", { file_path: "/w/b.ts" }, "The file /w/b.ts has been updated. Here is a snippet"),
      call("Write", { file_path: "D:\\c.ts" }, "File created successfully at: D:\\c.ts"),
      call("edit", { path: "/w/d.ts" }, "Successfully replaced 1 block(s) in /w/d.ts."),
      call("write", { filePath: "/w/e.ts" }, "Wrote file successfully."),
      call("apply_patch", "patch", "Success. Updated the following files:\nA /w/f.ts\nD /w/b.ts\n"),
      call("Bash", { command: "rm /w/a.ts" }, ""),
    ];
    expect(Object.fromEntries(editedFiles(messages))).toEqual({
      "/w/a.ts": "deleted",
      "/w/b.ts": "deleted",
      "D:\\c.ts": "created",
      "/w/d.ts": "changed",
      "/w/e.ts": "written",
      "/w/f.ts": "created",
    });
  });

  it("agrees with the ledger where both know, and not where a file is missing in it", async () => {
    const edits = Array.from({ length: 60 }, (_, at) =>
      call("Edit", { file_path: `/w/${fileOf(at)}` }, `The file /w/${fileOf(at)} has been updated.`),
    );
    const unseen = call("Unknown", { target: "/w/x.ts" }, "The file /w/x.ts has been updated.");
    const { files } = await measureDrift({ transcript: [...edits, unseen] });
    expect(files).toEqual({ edited: 61, found: 60, judged: 60, right: 60, untold: 0 });
  });
});
