import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleChild, type ChildProgram } from "./bundle-child.ts";
import type { LeaseReport } from "./postgres-child.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const PROCESSES = 8;
let child: ChildProgram;

beforeAll(async () => {
  child = await bundleChild(fileURLToPath(new URL("./postgres-child.ts", import.meta.url)));
});

afterAll(() => child.remove());

describe.skipIf(postgres === undefined)(`${PROCESSES} processes on one database`, () => {
  it("all start at the same moment on a database without our schema", async () => {
    const schema = postgres?.newSchema() ?? "";
    const reports = await runAll(["open", schema]);
    for (const report of reports)
      expect(report).toMatchObject({ opened: { status: "open" }, stored: { status: "stored" } });
    const starts = await postgres?.open(schema).records("starts").list();
    expect(starts).toMatchObject({ status: "listed", problems: [] });
    expect(starts?.status === "listed" && starts.records).toHaveLength(PROCESSES);
    expect(await postgres?.server.run(`select version from "${schema}".migrations`)).toBe("1");
  });

  it("lose none of 500 updates each of the same record", { timeout: 600_000 }, async () => {
    const schema = postgres?.newSchema() ?? "";
    const store = postgres?.open(schema).records("counters");
    await store?.put({ id: "shared", value: 0, expected: "missing" });
    const reports = await runAll(["update", schema, "500"]);
    const conflicts = reports.reduce<number>(
      (sum, report) => sum + (report as { conflicts: number }).conflicts,
      0,
    );
    const read = await store?.get("shared");
    expect(read).toMatchObject({ status: "found", value: PROCESSES * 500 });
    console.log(`postgres: ${PROCESSES} processes × 500 updates, 0 lost, ${conflicts} conflicts tried again`);
  });

  it("never own one lease together, and whoever lost it cannot write", async () => {
    const schema = postgres?.newSchema() ?? "";
    const store = postgres?.open(schema).records("leases");
    await store?.put({ id: "guarded", value: { fence: 0 }, expected: "missing" });
    const reports = (await runAll(["lease", schema, "12"])) as readonly LeaseReport[];
    const held = reports.flatMap((report) => report.held);
    expect(held).toHaveLength(PROCESSES * 12);
    expect(new Set(held.map(({ fence }) => fence)).size).toBe(held.length);
    const owners = new Map(held.map(({ fence, pid }) => [fence, pid]));
    const accepted = reports
      .flatMap((report) => report.accepted)
      .sort((left, right) => left.version - right.version);
    for (const [index, write] of accepted.entries()) {
      expect(owners.get(write.fence)).toBe(write.pid);
      expect(write.fence).toBeGreaterThanOrEqual(accepted[index - 1]?.fence ?? 0);
    }
    const refused = reports.reduce((sum, report) => sum + report.refused, 0);
    expect(refused).toBeGreaterThan(0);
    console.log(
      `postgres: ${held.length} leases of ${PROCESSES} processes, never two owners; ${accepted.length} writes counted, ${refused} of former owners were fenced off`,
    );
  });
});

async function runAll([task = "", ...rest]: readonly string[]): Promise<readonly unknown[]> {
  const args = [child.path, task, postgres?.server.connectionString ?? "", ...rest];
  const run = async (): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return JSON.parse(stdout) as unknown;
  };
  return Promise.all(Array.from({ length: PROCESSES }, run));
}
