import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import type { ToolOutput } from "../../hosts/opencode/hooks.ts";
import type { PluginContext } from "../context/context.ts";
import { createToolOutputTrimming, NOTICE_CHARS } from "./trim-output.ts";

const LINES = Array.from({ length: 6_000 }, (_, index) => `${index} a line`).join("\n");

async function finish(context: PluginContext, output: ToolOutput, tool = "bash"): Promise<ToolOutput> {
  const failures: unknown[] = [];
  const hooks = hooksOf([createToolOutputTrimming(context)], (failure) => void failures.push(failure));
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
  it("of half a megabyte keeps as much as one of a hundred kilobytes", async () => {
    const { context } = createTestContext();
    const shownOf = async (lines: number): Promise<number> => {
      const output = Array.from({ length: lines }, (_, index) => `line number ${index}`).join("\n");
      return (await finish(context, { title: "t", output, metadata: {} })).output.length;
    };
    expect(await shownOf(30_000)).toBeGreaterThan((await shownOf(6_000)) * 0.9);
  });

  it("has a line of its own, though a server gives each call the same id", async () => {
    const { context } = createTestContext();
    const keys: string[] = [];
    let now = 1;
    const seen: PluginContext = { ...context, now: () => now++, show: ({ key }) => void keys.push(key) };
    for (const output of [LINES, LINES]) await finish(seen, { title: "t", output, metadata: {} });
    expect(new Set(keys).size).toBe(2);
  });

  it("keeps head and tail, names a handle, and can be read in full from the store", async () => {
    const { context, entries } = createTestContext();
    const trimmed = await finish(context, { title: "t", output: LINES, metadata: { exit: 0 } });
    expect(trimmed.output.length).toBeLessThan(LINES.length / 2);
    expect(trimmed.output).toMatch(/^0 a line\n[\s\S]*5999 a line/);
    const { carryover, exit } = trimmed.metadata as {
      carryover: { handle: string; cut: unknown };
      exit: number;
    };
    expect(exit).toBe(0);
    expect(carryover.cut).toMatchObject({ method: "head-tail", originalChars: LINES.length });
    expect(await context.outputs.get(carryover.handle)).toBe(LINES);
    expect(trimmed.output).toContain(carryover.handle);
    expect(trimmed.output).toContain("recall");
    await expect
      .poll(() => entries("ses_1"))
      .toMatchObject([{ type: "tool-output", totalChars: LINES.length }]);
  });

  it("is cut again from the host's file where the host kept only one end, and names that file", async () => {
    const { context, folder } = createTestContext();
    const metadata = { truncated: true, outputPath: hostKeeps(folder, LINES) };
    const output = `...output truncated...\n\n${LINES.slice(-20_000)}`;
    const trimmed = await finish(context, { title: "t", output, metadata });
    expect(trimmed.output).toMatch(/^0 a line\n[\s\S]*5999 a line/);
    expect(trimmed.output.length).toBeLessThanOrEqual(output.length + NOTICE_CHARS);
    expect(trimmed.output).toContain(`path ${metadata.outputPath} (`);
    expect(trimmed.output).not.toContain(context.folders.outputs);
  });

  it.each([
    {
      name: "progress",
      whole: `${"\r12% of it".repeat(9_000)}\r100% of it\ndone\n`,
      shows: "100% of it\ndone\n",
    },
    { name: "colours", whole: "\u001b[31mred\u001b[0m\n".repeat(4), shows: "red\nred\nred\nred\n" },
  ])("that is mostly $name comes whole, as a terminal would show it", async ({ whole, shows }) => {
    const { context, folder } = createTestContext();
    const outputPath = hostKeeps(folder, whole);
    const output = `...output truncated...\n\nFull output saved to: ${outputPath}\n\n(no output)`;
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toBe(
      `${shows}\n[Shown as a terminal would show it. As it was written: ${outputPath}]`,
    );
  });

  it("with the line ends of old Macs keeps its lines", async () => {
    const { context, folder } = createTestContext();
    const words = Array.from(
      { length: 400 },
      (_, index) => `${String.fromCharCode(97 + (index % 26)).repeat(1 + index / 26)} end`,
    );
    const outputPath = hostKeeps(folder, words.join("\r"));
    const output = `...output truncated...\n\n${words.join("\r").slice(-2_000)}`;
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toMatch(/^a end\nb end\nc end\n/);
  });

  it("whose names are separated by NULs keeps them apart", async () => {
    const { context, folder } = createTestContext();
    const outputPath = hostKeeps(folder, "./a/file.txt\0./b/file.txt\0".repeat(900));
    const output = `...output truncated...\n\n${"./a/file.txt\0".repeat(200)}`;
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toMatch(/^\.\/a\/file\.txt\n\.\/b\/file\.txt\n/);
  });

  it.each([
    { name: "a short path", depth: 0 },
    { name: "a long path", depth: 12 },
  ])("of which the host shows nothing is shown in as much room, and its notice: $name", async ({ depth }) => {
    const { context, folder } = createTestContext();
    const deep = join(folder, ...Array.from({ length: depth }, () => "a-long-folder"));
    mkdirSync(deep, { recursive: true });
    const outputPath = hostKeeps(deep, `begin ${"x".repeat(500_000)} end\n`);
    const output = `...output truncated...\n\nFull output saved to: ${outputPath}\n\n(no output)`;
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toMatch(/^begin x+…\n\[\.\.\. \d+ chars omitted \.\.\.\]\n…x+ end\n/);
    expect(trimmed.output).toContain(`path ${outputPath} (`);
    expect(trimmed.output.length).toBeLessThanOrEqual(output.length + NOTICE_CHARS);
  });

  it("with emoji where the host shows letters is made shorter until it is no larger", async () => {
    const { context, folder } = createTestContext();
    const outputPath = hostKeeps(folder, `${"😀".repeat(30_000)}\n${"编译成功\n".repeat(9_000)}`);
    const output = `...output truncated...\n\n${"编译成功\n".repeat(2_000)}`;
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toMatch(/^(?:😀)+…\n[\s\S]*编译成功\n/);
    expect(trimmed.output.length).toBeLessThanOrEqual(output.length + NOTICE_CHARS);
  });

  it("in another encoding stays text", async () => {
    const { context, folder } = createTestContext();
    const whole = "Gr\ufffd\ufffde ge\ufffdndert: \ufffdber \ufffdl\n";
    expect((await finish(context, { title: "t", output: whole, metadata: {} })).output).toBe(whole);
    const outputPath = hostKeeps(folder, whole.repeat(9_000));
    const output = whole.repeat(1_000);
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toMatch(/^Gr\ufffd\ufffde ge/);
  });

  it("that is little over a limit stays as it is: a page of a file has line numbers", async () => {
    const { context } = createTestContext();
    const page = `<content>\n${Array.from({ length: 2_000 }, (_, index) => `${index + 1}: a line of a file`).join("\n")}\n</content>`;
    const given = { title: "t", output: page, metadata: { truncated: true } };
    expect(await finish(context, { ...given }, "read")).toEqual(given);
  });

  it("keeps what the host says of the command behind the output that it cut", async () => {
    const { context, folder } = createTestContext();
    const outputPath = hostKeeps(folder, LINES);
    const note = "\n\n<shell_metadata>\nended after exceeding timeout 1000 ms\n</shell_metadata>";
    const output = `...output truncated...\n\n${LINES.slice(-20_000)}${note}`;
    const trimmed = await finish(context, { title: "t", output, metadata: { truncated: true, outputPath } });
    expect(trimmed.output).toContain(`5999 a line${note}`);
    expect(trimmed.output).not.toContain("...output truncated...");
  });

  it("arrives whole where the host cut it and our limits would not", async () => {
    const { context, folder } = createTestContext({
      options: { toolOutput: { maxLines: 10_000, maxBytes: 0 } },
    });
    const metadata = { truncated: true, outputPath: hostKeeps(folder, LINES) };
    const trimmed = await finish(context, { title: "t", output: "…cut…", metadata });
    expect(trimmed.output).toBe(LINES);
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

  it.each(["ENOSPC", "EROFS", "ENOTDIR"])(
    "stays as the host cut it when the store says %s, which is told once",
    async (code) => {
      const { context, folder, logged } = createTestContext();
      const full = { status: "failed", code, reason: "no room" } as const;
      const outputs = { put: async () => full, get: async () => undefined };
      const hooks = hooksOf([createToolOutputTrimming({ ...context, outputs })]);
      const outputPath = hostKeeps(folder, LINES);
      const output = `...output truncated...\n\nFull output saved to: ${outputPath}\n\n${LINES.slice(-20_000)}`;
      for (const callID of ["call_1", "call_2", "call_3"]) {
        const given = { title: "t", output, metadata: { truncated: true, outputPath } };
        const trimmed = { ...given };
        await hooks["tool.execute.after"]?.({ tool: "bash", sessionID: "ses_1", callID, args: {} }, trimmed);
        expect(trimmed).toEqual(given);
      }
      await expect
        .poll(() => logged, { timeout: 10_000 })
        .toEqual([
          "long outputs cannot be kept and stay as the agent cut them: no room",
          `Long outputs cannot be kept (${code}). They stay as the agent cut them.`,
        ]);
    },
  );

  it("stays as the host made it when the store throws", async () => {
    const { context } = createTestContext();
    const outputs = {
      put: () => {
        throw new Error("broken");
      },
      get: async () => undefined,
    };
    const record = (): never => {
      throw new Error("broken too");
    };
    const given = { title: "t", output: LINES, metadata: { exit: 0 } };
    const output = await finish({ ...context, outputs, record }, { ...given });
    expect(output).toEqual(given);
  });
});
