import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { LOCK_TIMEOUT_MS, withFileLock } from "./lock.ts";
import { currentProcess, processState } from "./process-identity.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-lock-"));
  path = join(folder, "a.lock");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = <Result>(job: () => Promise<Result>, options: { waitMs?: number; fs?: FileSystem } = {}) =>
  withFileLock({ fs: nodeFileSystem, path, waitMs: 30, now: Date.now, ...options }, job);
const done = async (): Promise<string> => "done";

/** A lock as another process of this machine would have left it. */
function leaveLock(owner: object, at: string = path): void {
  writeFileSync(at, JSON.stringify({ ...currentProcess(), token: "foreign", ...owner }));
}

function ageLock(at: string = path): void {
  const timeS = (Date.now() - LOCK_TIMEOUT_MS) / 1000 - 1;
  utimesSync(at, timeS, timeS);
}

// A pid that was just in use and is free again.
const deadPid = spawnSync(process.execPath, ["-e", ""]).pid;

describe("withFileLock", () => {
  it("holds the lock file during the job only", async () => {
    expect(await run(async () => JSON.parse(readFileSync(path, "utf8")))).toMatchObject(currentProcess());
    expect(existsSync(path)).toBe(false);
    expect(nodeFileSystem.readdir(folder)).toEqual([]);
  });

  it("runs the jobs of one process one after the other", async () => {
    const steps: string[] = [];
    const job = (name: string) => async () => {
      steps.push(`${name} starts`);
      await new Promise((resolve) => setTimeout(resolve, 2));
      steps.push(`${name} ends`);
    };
    await Promise.all([run(job("a")), run(job("b")), run(job("c"))]);
    expect(steps).toEqual(["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
  });

  it("releases the lock when the job throws", async () => {
    await expect(run(() => Promise.reject(new Error("job")))).rejects.toThrow("job");
    expect(await run(done)).toBe("done");
  });

  it("gives up with a value while a running process holds it, however long that lasts", async () => {
    leaveLock({});
    ageLock();
    expect(await run(done)).toMatchObject({ status: "failed", code: "LOCKED" });
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ token: "foreign" });
  });

  it("takes it as soon as the other releases it", async () => {
    leaveLock({});
    setTimeout(() => rmSync(path), 20);
    expect(await run(done, { waitMs: 10_000 })).toBe("done");
  });

  it("breaks the lock of a dead process at once", async () => {
    leaveLock({ pid: deadPid });
    expect(await run(done, { waitMs: 0 })).toBe("done");
  });

  it("breaks the lock of a dead process whose pid is in use again", async () => {
    leaveLock({ start: "another boot/1" });
    expect(await run(done, { waitMs: 0 })).toBe("done");
  });

  it.each([
    { name: "another machine", content: { host: "elsewhere" } },
    { name: "a process whose start is not known", content: { start: "" } },
    { name: "nobody that can be read", content: undefined },
  ])("breaks a lock of $name only after a minute of silence", async ({ content }) => {
    if (content) leaveLock(content);
    else writeFileSync(path, "");
    expect(await run(done)).toMatchObject({ code: "LOCKED" });
    ageLock();
    expect(await run(done)).toBe("done");
  });

  it("breaks the lock of a breaker that died", async () => {
    leaveLock({ pid: deadPid });
    leaveLock({ pid: deadPid }, `${path}.break`);
    leaveLock({ pid: deadPid }, `${path}.break.break`);
    expect(await run(done, { waitMs: 0 })).toBe("done");
    expect(nodeFileSystem.readdir(folder)).toEqual([]);
  });

  it("does not break a dead lock while another running process is breaking it", async () => {
    leaveLock({ pid: deadPid });
    leaveLock({}, `${path}.break`);
    expect(await run(done)).toMatchObject({ code: "LOCKED" });
    expect(existsSync(path)).toBe(true);
  });

  it("leaves a lock alone that was replaced between the judgement and the breaking", async () => {
    leaveLock({ pid: deadPid });
    const link: FileSystem["link"] = (from, to) => {
      nodeFileSystem.link(from, to);
      // Another breaker was quicker, and its process now holds the lock.
      if (to.endsWith(".break")) leaveLock({});
    };
    expect(await run(done, { fs: { ...nodeFileSystem, link } })).toMatchObject({ code: "LOCKED" });
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ token: "foreign", pid: process.pid });
  });

  it("does not release a lock that another has taken over, and tells the job", async () => {
    const job = withFileLock({ fs: nodeFileSystem, path, waitMs: 0, now: Date.now }, async (hold) => {
      const before = hold.isOurs();
      leaveLock({});
      return [before, hold.isOurs()];
    });
    expect(await job).toEqual([true, false]);
    expect(existsSync(path)).toBe(true);
  });

  it("adopts its own lock when the release had failed", async () => {
    const unlink: FileSystem["unlink"] = (file) => {
      if (file === path) throw Object.assign(new Error("stuck"), { code: "EIO" });
      nodeFileSystem.unlink(file);
    };
    expect(await run(done, { fs: { ...nodeFileSystem, unlink } })).toBe("done");
    expect(existsSync(path)).toBe(true);
    expect(await run(done, { waitMs: 0 })).toBe("done");
    expect(existsSync(path)).toBe(false);
  });
});

describe("processState", () => {
  it("knows this process, a dead one, and another with the same number", () => {
    expect(processState(currentProcess())).toBe(process.platform === "linux" ? "running" : "unknown");
    expect(processState({ ...currentProcess(), pid: deadPid })).toBe("gone");
    if (process.platform === "linux")
      expect(processState({ ...currentProcess(), start: "x/1" })).toBe("gone");
  });

  it.each([0, -1, 1.5, Number.NaN])("does not take %d for a process", (pid) => {
    expect(processState({ ...currentProcess(), pid })).toBe("unknown");
  });
});
