import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProgram, isNodeSupported, OLDEST_NODE, runToEnd } from "./programs.ts";

describe("findProgram", () => {
  const folder = mkdtempSync(join(tmpdir(), "programs-"));
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  for (const each of [first, second]) mkdirSync(each);
  const place = (path: string, mode: number) => {
    writeFileSync(path, "#!/bin/sh\n");
    chmodSync(path, mode);
    return path;
  };
  const PATH = ["", first, second].join(delimiter);
  place(join(first, "plain"), 0o644);
  mkdirSync(join(first, "folder"));
  place(join(second, "folder"), 0o755);
  place(join(second, "plain"), 0o755);

  it("takes the first on the PATH that can be run", () => {
    expect(findProgram("plain", { PATH })).toBe(join(second, "plain"));
  });
  it("passes over a folder of that name", () => {
    expect(findProgram("folder", { PATH })).toBe(join(second, "folder"));
  });
  it("does not search the PATH for a path", () => {
    expect(findProgram(join(second, "plain"), { PATH: "" })).toBe(join(second, "plain"));
    expect(findProgram("./no-such-program", { PATH })).toBeUndefined();
  });
  it("finds nothing without a PATH", () => {
    expect(findProgram("plain", {})).toBeUndefined();
  });
});

describe("runToEnd", () => {
  const { env } = process;
  it("gives a program its input and says what it printed", async () => {
    const run = await runToEnd(process.execPath, ["-e", "process.stdin.pipe(process.stdout)"], {
      env,
      input: "hello",
    });
    expect(run).toEqual({ hasSucceeded: true, stdout: "hello", said: "hello" });
  });
  it("says why a program could not be started", async () => {
    const run = await runToEnd("no-such-program", [], { env });
    expect(run.hasSucceeded).toBe(false);
    expect(run.said).toContain("ENOENT");
  });
});

describe("isNodeSupported", () => {
  it.each([
    ["v20.19.0", true],
    ["20.19.5", true],
    ["20.18.3", false],
    ["18.20.0", false],
    ["v22.1.0", true],
  ])("%s: %s", (version, expected) => expect(isNodeSupported(version)).toBe(expected));

  it("is what package.json asks for", () => {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    const { engines } = JSON.parse(text) as { readonly engines: { readonly node: string } };
    expect(engines.node).toBe(`>=${OLDEST_NODE}`);
  });
});
