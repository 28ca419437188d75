import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { postgresForTests } from "./postgres-place.ts";

const project = join(import.meta.dirname, "../..");
const isBuilt = existsSync(join(project, "dist/postgres.js"));
const postgres = await postgresForTests();
if (!isBuilt)
  console.log("skipped: the example with a database, since the package is not built (npm run build)");

describe.skipIf(postgres === undefined)("the statements of docs/scale.md", () => {
  it("run as they stand there", async () => {
    const page = readFileSync(join(project, "docs/scale.md"), "utf8");
    const statements = /```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    expect(statements).toContain("drop schema carryover cascade");
    const stores = postgres?.open("carryover");
    await stores?.outputs.put("text");
    await stores?.journal("s").append("entry");
    const answer = await postgres?.server.run(statements);
    expect(answer).toContain('"s"|');
    expect(await stores?.records("r").put({ id: "a", value: 1, expected: "missing" })).toMatchObject({
      status: "failed",
    });
  });
});

describe.skipIf(postgres === undefined || !isBuilt)("the example of a fleet", () => {
  it("runs against a real server, and its assertions hold", () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, "examples/06-fleet.mjs")], {
      encoding: "utf8",
      env: { ...process.env, CARRYOVER_POSTGRES: postgres?.server.tcpConnectionString ?? "" },
    });
    expect(stderr).toBe("");
    expect(stdout).toContain("Recalled on the second machine: line 2000 of the build");
    expect(status).toBe(0);
  });
});
