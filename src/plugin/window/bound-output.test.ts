import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import type { ToolOutput } from "../../hosts/opencode/hooks.ts";
import type { PluginContext } from "../context/context.ts";
import { createBoundToolOutput } from "./bound-output.ts";

const LINES = Array.from({ length: 6_000 }, (_, index) => `${index} a line`).join("\n");

async function finish(context: PluginContext, output: ToolOutput, tool = "bash"): Promise<ToolOutput> {
  const failures: unknown[] = [];
  const hooks = hooksOf([createBoundToolOutput(context)], (failure) => void failures.push(failure));
  await hooks["tool.execute.after"]?.({ tool, sessionID: "ses_1", callID: "call_1", args: {} }, output);
  return output;
}

/** Writes an output where the host keeps what it cut. */
function hostKeeps(folder: string, output: string): string {
  const path = join(folder, "tool-output", "tool_1");
  mkdirSync(join(folder, "tool-output"));
  writeFileSync(path, output);
  return path;
}

describe("a tool output", () => {
  it("keeps head and tail, names a handle, and can be read in full from the spill", async () => {
    const { context, entries } = createTestContext();
    const bounded = await finish(context, { title: "t", output: LINES, metadata: { exit: 0 } });
    expect(bounded.output.length).toBeLessThan(LINES.length / 2);
    expect(bounded.output).toMatch(/^0 a line\n[\s\S]*5999 a line/);
    const { carryover, exit } = bounded.metadata as {
      carryover: { handle: string; cut: unknown };
      exit: number;
    };
    expect(exit).toBe(0);
    expect(carryover.cut).toMatchObject({ method: "head-tail", originalChars: LINES.length });
    expect(await context.spills.get(carryover.handle)).toBe(LINES);
    expect(bounded.output).toContain(carryover.handle);
    expect(bounded.output).toContain("recall");
    await expect
      .poll(() => entries("ses_1"))
      .toMatchObject([{ type: "tool-output", totalChars: LINES.length }]);
  });

  it("is cut again from the host's file where the host kept only the head", async () => {
    const { context, folder } = createTestContext();
    const metadata = { truncated: true, outputPath: hostKeeps(folder, LINES) };
    const bounded = await finish(context, { title: "t", output: "0 a line\n… cut by the host", metadata });
    expect(bounded.output).toContain("5999 a line");
  });

  it("keeps what the host says of the command behind the output that it cut", async () => {
    const { context, folder } = createTestContext();
    const outputPath = hostKeeps(folder, LINES);
    const note = "\n\n<shell_metadata>\nended after exceeding timeout 1000 ms\n</shell_metadata>";
    const output = `...output truncated...\n\n5999 a line${note}`;
    const bounded = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(bounded.output).toContain(`5999 a line${note}`);
    expect(bounded.output).not.toContain("...output truncated...");
  });

  it("arrives whole where the host cut it and our limits would not", async () => {
    const { context, folder } = createTestContext({
      options: { toolOutput: { maxLines: 10_000, maxBytes: 0 } },
    });
    const metadata = { truncated: true, outputPath: hostKeeps(folder, LINES) };
    const bounded = await finish(context, { title: "t", output: "…cut…", metadata });
    expect(bounded.output).toBe(LINES);
  });

  it("never reads another file that its metadata names, nor a link", async () => {
    const { context, folder } = createTestContext();
    const secret = join(folder, "id_ed25519");
    const link = join(folder, "tool-output", "tool_1");
    writeFileSync(secret, LINES);
    mkdirSync(join(folder, "tool-output"));
    symlinkSync(secret, link);
    for (const outputPath of [secret, link, join(folder, "tool-output"), join(folder, "tool-output", "..")]) {
      const given = { title: "t", output: "head", metadata: { truncated: true, outputPath } };
      expect(await finish(context, { ...given })).toEqual(given);
    }
  });

  it.each([
    { name: "short", output: "short", tool: "bash", options: {} },
    { name: "of one of our own tools", output: LINES, tool: "recall", options: {} },
    { name: "with outputs left alone", output: LINES, tool: "bash", options: { toolOutput: false } },
    { name: "with the documented profile", output: LINES, tool: "bash", options: { profile: "documented" } },
  ])("that is $name stays byte for byte", async ({ output, tool, options }) => {
    const { context } = createTestContext({ options });
    const given = { title: "t", output, metadata: { exit: 0 } };
    expect(await finish(context, { ...given }, tool)).toEqual(given);
  });

  it("stays as the host made it when its file is gone, or its output is no text", async () => {
    const { context } = createTestContext();
    const cut = { title: "t", output: "head", metadata: { truncated: true, outputPath: "/nowhere/x" } };
    expect(await finish(context, { ...cut })).toEqual(cut);
    const odd = { title: "t", output: undefined as unknown as string, metadata: null };
    expect(await finish(context, { ...odd })).toEqual(odd);
  });

  it("is bounded all the same, and says so, when the whole cannot be kept", async () => {
    const { context } = createTestContext();
    const full = { status: "failed", code: "ENOSPC", reason: "full" } as const;
    const spills = { put: async () => full, get: async () => undefined };
    const bounded = await finish({ ...context, spills }, { title: "t", output: LINES, metadata: {} });
    expect(bounded.output).toContain("ENOSPC");
    expect(bounded.output.length).toBeLessThan(LINES.length / 2);
  });

  it("stays as the host made it when the store throws", async () => {
    const { context } = createTestContext();
    const spills = {
      put: () => {
        throw new Error("broken");
      },
      get: async () => undefined,
    };
    const record = (): never => {
      throw new Error("broken too");
    };
    const given = { title: "t", output: LINES, metadata: { exit: 0 } };
    const output = await finish({ ...context, spills, record }, { ...given });
    expect(output).toEqual(given);
  });
});
