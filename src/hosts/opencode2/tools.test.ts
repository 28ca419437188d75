import { expect, it } from "vitest";
import { finishedTool } from "./tools.ts";

const shell = (text: string) =>
  finishedTool({
    tool: "shell",
    sessionID: "ses_1",
    id: "call_1",
    status: "completed",
    result: { content: text, metadata: { truncated: true } },
  });

it("looks once through an output that names no file, however long it is", async () => {
  // Looking from each place again took a second for 45 KB, and would take hours here.
  const text = "row of the output with a few words in it\n".repeat(50_000);
  expect(await shell(text)?.whole()).toEqual({ text });
});

it("reads no file that is not one of the host's own", async () => {
  const text = "secrets\n\n[output truncated; full output saved to: /etc/hostname]";
  expect(await shell(text)?.whole()).toEqual({ text });
});
