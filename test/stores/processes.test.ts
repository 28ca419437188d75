import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { bundleChild, type ChildProgram } from "./bundle-child.ts";
import { fillerOf } from "./kill-protocol.ts";
import { quickFolder, temporaryFolder } from "./temporary-folder.ts";

let child: ChildProgram;

beforeAll(async () => {
  child = await bundleChild(fileURLToPath(new URL("./writer-child.ts", import.meta.url)));
});

afterAll(() => child.remove());

describe.each([2, 8])("%d processes", (processes) => {
  it("lose none of 500 updates each of the same record", async () => {
    const root = quickFolder();
    const store = createFileRecordStore({ root, durable: false });
    await store.put({ id: "shared", value: 0, expected: "missing" });
    await runWriters(processes, ["update", root, "500"]);
    expect(await store.get("shared")).toMatchObject({ status: "found", value: processes * 500 });
    expect(await store.list()).toMatchObject({ problems: [] });
  });

  it("append small and long lines to the same session without a bad one", async () => {
    const root = temporaryFolder();
    await Promise.all([
      runWriters(processes / 2, ["append", root, "1000", "200"]),
      runWriters(processes / 2, ["append", root, "15", "1000000"]),
    ]);
    const { entries, problems } = await createFileJournal({ root, session: "shared" }).read();
    expect(problems).toEqual([]);
    expect(entries).toHaveLength((processes / 2) * 1_015);
    const indexes = new Map<number, number>();
    for (const { value } of entries) {
      const { pid, index } = value as { readonly pid: number; readonly index: number };
      if (index !== (indexes.get(pid) ?? 0)) expect.fail(`process ${pid} has entry ${index} out of order`);
      indexes.set(pid, index + 1);
    }
    expect(indexes.size).toBe(processes);
  });

  it("save the same contents at the same time and all can be read", async () => {
    const root = temporaryFolder();
    const reports = await runWriters(processes, ["output", root, "30", "20000"]);
    const store = createFileOutputStore({ root, cleaning: "never" });
    expect(new Set(reports.map((report) => JSON.stringify(report))).size).toBe(1);
    const { handles } = reports[0] as { readonly handles: readonly string[] };
    for (const [index, handle] of handles.entries()) {
      expect(await store.get(handle)).toBe(fillerOf(`shared ${index}`, 20_000));
    }
  });
});

it("saves one line of 100 MB with less than half of that in memory beyond the text", async () => {
  const [report] = await runWriters(1, ["big", temporaryFolder(), "1", "100000000"]);
  const { extraBytes, bytes } = report as { readonly extraBytes: number; readonly bytes: number };
  expect(bytes).toBeGreaterThanOrEqual(100_000_000);
  expect(extraBytes).toBeLessThan(50_000_000);
});

async function runWriters(processes: number, args: readonly string[]): Promise<readonly unknown[]> {
  const run = async (): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, [child.path, ...args]);
    return JSON.parse(stdout) as unknown;
  };
  return Promise.all(Array.from({ length: processes }, run));
}
