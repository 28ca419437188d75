import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPostgresStores } from "./door.ts";
import { createLoadPg } from "./pool.ts";
import { createRedactConnection } from "./redact-connection.ts";
import { openPostgresStores } from "./stores.ts";

describe("a store without the package pg", () => {
  it("says what to install, wherever it is used", async () => {
    const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: "ERR_MODULE_NOT_FOUND" });
    const stores = openPostgresStores({
      connectionString: "postgres://agent:hidden@host/db",
      load: () => Promise.reject(missing),
    });
    const outcomes = [
      await stores.open(),
      await stores.outputs.put("text"),
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
    expect(await stores.outputs.get("f".repeat(64))).toMatchObject({ code: "PG_NOT_INSTALLED" });
    expect(await stores.journal("s").read()).toMatchObject({ problems: [{ code: "PG_NOT_INSTALLED" }] });
    await stores.close();
  });

  it("says so too of something that is not pg", async () => {
    const stores = openPostgresStores({ connectionString: "postgres://host/db", load: async () => ({}) });
    expect(await stores.open()).toMatchObject({ status: "failed", code: "PG_NOT_INSTALLED" });
  });

  it("wants an address or a pool", async () => {
    expect(() => createPostgresStores({})).toThrow(
      "connectionString is missing; give postgres://user:password@host/database, or a pool of your own",
    );
  });
});

const missing = (): Promise<never> => Promise.reject(new Error("Cannot find package 'pg'"));
let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "carryover-pg-")));
  const place = join(folder, "has", "node_modules", "pg");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: "pg", main: "index.js" }));
  writeFileSync(join(place, "index.js"), "module.exports = { Pool: class Found {} };");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("createLoadPg", () => {
  it("loads the package by its name first", async () => {
    const { Pool } = (await createLoadPg([join(folder, "has")])()).default ?? {};
    expect(Pool?.name).not.toBe("Found");
  });

  it("looks in the folders for one that is not beside the program", async () => {
    const load = createLoadPg(
      [join(folder, "has", "not"), join(folder, "nowhere"), join(folder, "has")],
      missing,
    );
    expect((await load()).default?.Pool?.name).toBe("Found");
  });

  it("gives up with the first reason", async () => {
    await expect(createLoadPg([join(folder, "nowhere")], missing)()).rejects.toThrow(
      "Cannot find package 'pg'",
    );
  });
});

const ADDRESS = "postgres://agent:p%40ss%2Fword@db.example:5432/fleet?sslmode=require";

describe("createRedactConnection", () => {
  it.each([
    { name: "the whole address", text: `cannot connect to ${ADDRESS} now` },
    { name: "the password as it stands there", text: "bad value p%40ss%2Fword" },
    { name: "the password as the server gets it", text: "bad value p@ss/word" },
    { name: "another address", text: "see postgresql://other:hunter2@elsewhere/x" },
  ])("takes out $name", ({ text }) => {
    const redacted = createRedactConnection(ADDRESS)(text);
    expect(redacted).toContain("[REDACTED]");
    expect(redacted).not.toMatch(/p%40ss|p@ss|hunter2/);
  });

  it("takes out a password among the parameters", () => {
    const redact = createRedactConnection("postgres:///fleet?host=/run/pg&user=a&password=s%3Dcret");
    expect(redact("s=cret and s%3Dcret")).toBe("[REDACTED] and [REDACTED]");
  });

  it("takes out a password that itself holds the signs around it", () => {
    expect(createRedactConnection("postgres://agent:a:b@c@host/db")("the word a:b@c")).toBe(
      "the word [REDACTED]",
    );
  });

  it("leaves text without a secret as it is", () => {
    const redact = createRedactConnection("postgres://db.example/fleet");
    expect(redact("connect ECONNREFUSED 10.0.0.1:5432")).toBe("connect ECONNREFUSED 10.0.0.1:5432");
    expect(createRedactConnection(undefined)("as it is")).toBe("as it is");
  });

  it("takes an address that cannot be read for a secret as a whole", () => {
    expect(createRedactConnection("postgres://%:%@")("is postgres://%:%@ right?")).not.toContain("%:%");
  });
});
