import type { Journey } from "./journey.ts";
import { loadPlugin } from "./scripted-host.ts";

/** A tool prints a megabyte: the model is shown both ends with a handle, and reads a line of the rest by it. */
export const travel: Journey = async ({ recordFunctions }) => {
  const host = await loadPlugin({ polls: "off" });
  const lines = Array.from({ length: 40_000 }, (_, index) => `line ${index} of the output`).join("\n");
  const result = { title: "make", output: lines, metadata: {} };
  const journey = await recordFunctions(import.meta.url, async () => {
    const call = { tool: "bash", sessionID: "ses_parent", callID: "call_1", args: { command: "make" } };
    await host.hook("tool.execute.after", call, result);
    const handle = /sha256 ([0-9a-f]+)/.exec(result.output)?.[1] ?? "";
    const recalled = await host.callTool("recall", { handle, range: "20000-20002" });
    if (!recalled.includes("line 20000 of the output")) throw new Error(`not recalled by "${handle}"`);
  });
  await host.close();
  return [journey];
};
