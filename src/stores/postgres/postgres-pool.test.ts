import { describe, expect, it } from "vitest";
import { createPostgresStores } from "./stores.ts";

describe("a store without the package pg", () => {
  it("says what to install, wherever it is used", async () => {
    const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: "ERR_MODULE_NOT_FOUND" });
    const stores = createPostgresStores({
      connectionString: "postgres://agent:hidden@host/db",
      load: () => Promise.reject(missing),
    });
    const outcomes = [
      await stores.open(),
      await stores.spills.put("text"),
      await stores.journal("s").append(1),
      await stores.records("r").get("a"),
      await stores.records("r").put({ id: "a", value: 1, expected: "missing" }),
      await stores.clean(),
      await stores.release("s"),
    ];
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "failed", code: "PG_NOT_INSTALLED" });
      expect(JSON.stringify(outcome)).toContain("npm install pg");
      expect(JSON.stringify(outcome)).not.toContain("hidden");
    }
    expect(await stores.spills.get("f".repeat(64))).toBeUndefined();
    expect(await stores.journal("s").read()).toMatchObject({ problems: [{ code: "PG_NOT_INSTALLED" }] });
    await stores.close();
  });

  it("says so too of something that is not pg", async () => {
    const stores = createPostgresStores({ connectionString: "postgres://host/db", load: async () => ({}) });
    expect(await stores.open()).toMatchObject({ status: "failed", code: "PG_NOT_INSTALLED" });
  });

  it("wants an address or a pool", async () => {
    expect(await createPostgresStores({}).open()).toMatchObject({ status: "failed", code: "NO_DATABASE" });
  });
});
