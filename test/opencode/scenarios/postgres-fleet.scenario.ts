import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { afterAll, describe, expect } from "vitest";
import type { SessionExport } from "../../../src/formats/wires/opencode/decode-messages.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { startPostgres } from "../../rig/postgres/start-postgres.ts";
import { PLUGIN_ENTRY } from "../harness/plugin-specs.ts";
import { createRig, type Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { childrenOf, firstChildRequest, textOf, toastsOf, waitForDeliveries } from "./fork-support.ts";

const LINES = Array.from({ length: 6_000 }, (_, index) => `${index} a line of the long report`).join("\n");
const server = await startPostgres();
const plugin = { store: server?.tcpConnectionString ?? "" };
const options = {
  plugin,
  why: "the database is the option",
  twin: "a pruned output stays pruned in a fork, and can be recalled there",
} as const;

const shipped = join(mkdtempSync(join(tmpdir(), "carryover-shipped-")), "carryover.mjs");
const bundle = await rolldown({
  input: PLUGIN_ENTRY,
  platform: "node",
  external: ["pg"],
  logLevel: "silent",
});
await bundle.write({ file: shipped, format: "esm", codeSplitting: false });
await bundle.close();

afterAll(async () => {
  rmSync(dirname(shipped), { recursive: true, force: true });
  await server?.stop();
});

describe.skipIf(server === undefined)("two machines with one database", () => {
  scenario(
    "a child on one machine recalls what its parent saw on the other",
    {
      ...options,
      files: { "long.txt": `${LINES}\n` },
      timeoutMs: 300_000,
      proves:
        "outputs, inherited context and log come from the database; nothing of them lies in either home",
    },
    async (here) => {
      const parent = await here.newSession();
      await here.turn(parent, "Show the report.", [
        call("bash", { command: "cat long.txt", description: "Show" }),
        say("Seen."),
      ]);
      here.model.script([say("The child's report.", { family: "child" })]);
      await here.turn(parent, "Fork it.", [call("fork", { prompt: "Look into it." }), say("Forked.")]);
      const handle = handleIn(textOf(await firstChildRequest(here, parent)));
      here.model.script([say("I see.", { sessionId: parent, times: "always" })]);
      await waitForDeliveries(here, parent, 1);
      const [child] = await childrenOf(here, parent);
      const moved = await exportSession(here, child?.id ?? "");

      const there = await createRig(options);
      try {
        const [id = ""] = await there.importSessions([moved]);
        await there.turn(id, "What stands in the middle?", [
          call("recall", { handle, range: "3001-3002" }),
          call("recall", { search: "4321 a line" }),
          say("Found."),
        ]);
        const requests = there.requests({ sessionId: id });
        expect(textOf(requests[0] ?? fail("no request"))).toContain("Show the report.");
        expect(textOf(requests[1] ?? fail("no recall"))).toContain(
          "3000 a line of the long report\\n3001 a line of the long report",
        );
        expect(textOf(requests[2] ?? fail("no search"))).toContain("4321 a line of the long report");
        expect([...keptIn(here), ...keptIn(there)]).toEqual([]);
        for (const rig of [here, there]) expect(filesWith(rig, server?.password ?? "")).toEqual([]);
      } finally {
        await there.stop();
      }
    },
  );

  scenario(
    "a database that is killed while a fork runs costs nothing once it is back",
    {
      ...options,
      twin: { none: "files have no server that can be killed" },
      timeoutMs: 200_000,
      proves: "the fork goes on, and its result is delivered once",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("The child's report.", { family: "child", delayMs: 4_000 }),
        say("I see.", { sessionId: id, contains: "The child's report.", times: "always" }),
      ]);
      await rig.turn(id, "Fork it.", [call("fork", { prompt: "Look into it." }), say("Forked.")]);
      await firstChildRequest(rig, id);
      await server?.kill();
      await server?.restart();
      const deliveries = await waitForDeliveries(rig, id, 1);
      expect(deliveries).toHaveLength(1);
    },
  );

  scenario(
    "a plugin without the package pg says what is missing, and finds it in OpenCode's own folder",
    {
      otherPlugins: [[pathToFileURL(shipped).href, plugin]],
      files: { "long.txt": `${LINES}\n` },
      timeoutMs: 200_000,
      proves: "the plugin as it is shipped, without the driver, alone in a folder",
    },
    async (rig) => {
      const show = async (): Promise<string> => {
        const id = await rig.newSession();
        await rig.turn(id, "Show the report.", [
          call("bash", { command: "cat long.txt", description: "Show" }),
          say("Seen."),
        ]);
        return textOf(rig.requests({ sessionId: id }).at(-1) ?? fail("no request"));
      };
      expect(await show()).toContain("Full output saved to:");
      const isTold = (text: string): boolean => toastsOf(rig).some((toast) => toast.includes(text));
      await rig.waitFor(
        () => isTold("npm install pg") && isTold("PG_NOT_INSTALLED"),
        "what is missing, told to the person",
      );
      const packages = join(rig.sandbox.configFolder, "node_modules");
      symlinkSync(fileURLToPath(new URL("../../../node_modules/pg", import.meta.url)), join(packages, "pg"));
      await rig.restart();
      expect(handleIn(await show())).toMatch(/^\w{64}$/);
    },
  );

  scenario(
    "a database that is away costs nothing but what we would have kept",
    {
      plugin: { store: "postgres://agent:s3cret@127.0.0.1:1/postgres" },
      why: "the database is the option",
      twin: "a long output keeps head and tail",
      files: { "long.txt": `${LINES}\n` },
      timeoutMs: 200_000,
      proves: "the turn goes on, the output is as OpenCode cut it, and the password is nowhere",
    },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Show the report.", [
        call("bash", { command: "cat long.txt", description: "Show" }),
        say("Seen."),
      ]);
      const shown = textOf(rig.requests({ sessionId: id }).at(-1) ?? fail("no request"));
      expect(shown).toContain("5999 a line of the long report");
      expect(shown).not.toContain("3000 a line of the long report");
      expect(shown).toContain("Full output saved to:");
      await rig.waitFor(
        () => toastsOf(rig).some((toast) => toast.includes("cannot be kept (ECONNREFUSED)")),
        "the reason, told to the person",
      );
      expect(filesWith(rig, "s3cret")).toEqual([]);
    },
  );
});

function handleIn(text: string): string {
  const handle = /handle(?: and sha256)? (\w{16,})/.exec(text)?.[1];
  return handle ?? fail("the child was shown no handle");
}

function fail(what: string): never {
  throw new Error(what);
}

async function exportSession({ opencode }: Rig, sessionId: string): Promise<SessionExport> {
  const info = (await opencode.call("GET", `/session/${sessionId}`)) as SessionExport["info"];
  const messages = (await opencode.messages(sessionId)) as unknown as SessionExport["messages"];
  return { info, messages };
}

/** What the plugin keeps in files, but for the name of the home. */
function keptIn({ sandbox }: Rig): readonly string[] {
  const folder = join(sandbox.home, ".local", "share", "carryover");
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => name !== "home" && name !== "loaded.json",
  );
}

/** The files of a sandbox that hold a text, but for the configuration, where it must stand. */
function filesWith({ sandbox }: Rig, text: string): readonly string[] {
  return readdirSync(sandbox.root, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.endsWith("opencode.json"))
    .filter((name) => {
      const path = join(sandbox.root, name);
      const size = statSync(path, { throwIfNoEntry: false });
      return size?.isFile() === true && readFileSync(path).includes(text);
    });
}
