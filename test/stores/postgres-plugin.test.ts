import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkStore } from "../../src/cli/doctor/check-store.ts";
import type { SessionMessage } from "../../src/formats/wires/opencode/decode-messages.ts";
import { pluginFolders } from "../../src/plugin/stores/folders.ts";
import { openPluginStores } from "../../src/plugin/stores/open-stores.ts";
import type { PluginStores } from "../../src/plugin/stores/plugin-stores.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const homes: string[] = [];

afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

describe.skipIf(postgres === undefined)("the plugin with a database", () => {
  it("shares outputs, views and logs with other homes, and keeps the forks of a home together", async () => {
    const [home, other] = [newHome(), newHome()];
    const [first, second, elsewhere] = [open(home), open(home), open(other)];
    const output = await first.outputs.put("a long output");
    expect(await elsewhere.outputs.get(output.status === "stored" ? output.handle : "")).toBe(
      "a long output",
    );
    const view = [{ info: { id: "msg_\ud800" }, parts: [{ type: "text", text: "\0 ✓ \udc00" }] }] as const;
    const stored = await first.requests.put({ messages: view as unknown as readonly SessionMessage[] });
    expect(await elsewhere.requests.get(stored.status === "stored" ? stored.blob : "")).toEqual({
      status: "found",
      messages: view,
    });
    await first.journal("ses_1").append({ type: "request" });
    expect((await elsewhere.journal("ses_1").read()).entries).toHaveLength(1);
    await first.forks("/home/dev/app").put({ id: "a", value: 1, expected: "missing" });
    expect(await second.forks("/home/dev/app").get("a")).toMatchObject({ status: "found" });
    expect(await elsewhere.forks("/home/dev/app").get("a")).toEqual({ status: "missing" });
    expect(await second.forks("/home/dev/other").get("a")).toEqual({ status: "missing" });
    expect(readdirSync(join(home, "carryover"))).toEqual(["home"]);
    await Promise.all([first, second, elsewhere].map((stores) => stores.close()));
  });

  it("is looked at by the doctor, who never shows the address", async () => {
    const address = postgres?.server.connectionString ?? "";
    expect(await checkStore(address, {})).toMatchObject([
      { level: "ok" },
      {
        check: "records",
        level: "ok",
        what: "0 plugins at work, 0 forks recorded, and all records are whole",
      },
    ]);
    await postgres?.server.run("update carryover.records set value = '{' where id = '\"a\"'");
    expect(await checkStore(address, {})).toMatchObject([
      { level: "ok" },
      { check: "records", level: "problem", what: expect.stringMatching(/forks\/\w+\/a$/) as string },
    ]);
    const [problem] = await checkStore(address.replace(/:[^:@]+@/, ":wr0ng@"), {});
    expect(problem).toMatchObject({ level: "problem", what: expect.stringContaining("28P01") as string });
    expect(JSON.stringify(problem)).not.toContain("wr0ng");
  });
});

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "carryover-home-"));
  homes.push(home);
  return home;
}

function open(home: string): PluginStores {
  const folders = pluginFolders({ store: undefined, env: { XDG_DATA_HOME: home } });
  return openPluginStores({ store: postgres?.server.tcpConnectionString, folders, now: Date.now });
}
