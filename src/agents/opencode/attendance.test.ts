import { expect, it } from "vitest";
import { programArguments } from "./attendance.ts";

it("a server of its own tells what it was called with", () => {
  expect(programArguments({ argv: ["bun", "main", "serve", "--port", "1"], ppid: 1 })).toEqual([
    "serve",
    "--port",
    "1",
  ]);
});

it.runIf(process.platform === "linux")(
  "a server that serves one client alone tells what the client was called with",
  () => {
    const asked = programArguments({ argv: ["bun", "main", "serve", "--stdio"], ppid: process.pid });
    expect(asked.length).toBeGreaterThan(0);
    expect(asked).not.toContain("--stdio");
  },
);

it("a client that is gone tells nothing", () => {
  expect(programArguments({ argv: ["bun", "main", "serve", "--stdio"], ppid: 2 ** 30 })).toEqual([]);
});
