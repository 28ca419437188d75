import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { builtPage } from "../../inspector/server-built-page.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { startPostgres } from "../../rig/postgres/start-postgres.ts";
import { createRig, type OpenRig, type Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { followSession, startInspector } from "./live-support.ts";
import {
  handlesIn,
  longPrompt,
  makeReports,
  messagesOf,
  REPORT_FILES,
  runCarryover,
} from "./window-support.ts";

const server = await startPostgres();
const address = server?.tcpConnectionString ?? "";
const store = "{env:CARRYOVER_DATABASE}";
const env = { CARRYOVER_DATABASE: address };

afterAll(() => server?.stop());

/** A home in which no OpenCode runs and that knows the database only by its configuration. */
async function anotherHome(): Promise<OpenRig> {
  const config = JSON.stringify({ plugin: [["carryover", { store }]] });
  return createRig({ env: { ...env, OPENCODE_CONFIG_CONTENT: config }, start: "later" });
}

describe.skipIf(server === undefined)("the command line and a database", () => {
  scenario(
    "an edit is taken back, and a session followed and deleted, from another home",
    {
      plugin: {
        store,
        prune: "auto",
        toolOutput: false,
        models: { "scripted/long-window": { keepTokens: 1_000, facts: { cache: "none" } } },
      },
      why: "the database is the option; pruning, which by default waits for a full window, makes the edit that is taken back",
      twin: { none: "with default options the plugin makes no edit that could be taken back" },
      env,
      files: REPORT_FILES,
      timeoutMs: 600_000,
      proves:
        "`undo`, `inspect --live` and `purge` work on the database wherever they run, and its password is nowhere",
    },
    async (rig) => {
      builtPage();
      const there = await anotherHome();
      try {
        const id = await rig.newSession("A long session");
        const lastRequest = () => rig.requests({ sessionId: id }).at(-1);
        await rig.turn(id, "Make four.", makeReports(["first", "second", "third", "fourth"]));

        const [here, far] = [await startInspector(rig), await startInspector(there, id)];
        const [near, distant] = [await followSession(here.address), await followSession(far.address)];
        for (const turn of [2, 3, 4]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
        expect(handlesIn(lastRequest())).not.toEqual([]);
        const requests = rig.requests({ sessionId: id }).length;
        for (const page of [near, distant])
          await rig.waitFor(() => page.state().left.length > 0 && page.state().own.requests === requests, {
            what: "what left, on a page",
            timeoutMs: 60_000,
          });
        expect(near.state().session).toMatchObject({ sessionId: id, title: "A long session", problems: [] });
        expect(near.state().session.transcript.length).toBeGreaterThan(4);
        // The messages lie in OpenCode's own database, in the other home.
        expect(distant.state().session.problems.join()).toContain("OpenCode");
        expect(distant.state().activity).not.toBe("ended");

        const inUse = await runCarryover(there, "purge", "--session", id, "--yes");
        expect(inUse).toMatchObject({ code: 0, stdout: expect.stringContaining("writes its log") });

        const undone = await runCarryover(there, "undo", "--session", id, "--json");
        expect(undone.stderr).toBe("");
        expect(JSON.parse(undone.stdout)).toMatchObject({
          sessionId: id,
          where: "plugin",
          edits: expect.any(Number),
        });
        await rig.turn(id, "And now?", [say("Seen.")]);
        expect(handlesIn(lastRequest())).toEqual([]);
        for (const page of [near, distant])
          await rig.waitFor(() => page.state().left.length === 0, "what came back, on a page");
        expect((await runCarryover(there, "undo")).code).toBe(2);

        for (const turn of [5, 6, 7, 8, 9]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
        expect(handlesIn(lastRequest())).not.toEqual([]);
        await rig.kill9();
        for (const page of [near, distant])
          await rig.waitFor(() => page.state().activity === "ended", { what: "the end", timeoutMs: 30_000 });
        const offline = await runCarryover(rig, "undo", "--json");
        expect(JSON.parse(offline.stdout)).toMatchObject({
          sessionId: id,
          where: "journal",
          edits: expect.any(Number),
        });
        await rig.restart();
        await rig.turn(id, "And now?", [say("Seen.")]);
        expect(handlesIn(lastRequest())).toEqual([]);
        await rig.kill9();

        const dry = await runCarryover(there, "purge", "--session", id, "--dry-run", "--json");
        expect(JSON.parse(dry.stdout)).toMatchObject({ store: "database", sessions: [{ id }], inUse: [] });
        expect(await rowsOf("journals")).toBe("1");
        const purged = await runCarryover(there, "purge", "--session", id, "--yes", "--json");
        expect(JSON.parse(purged.stdout)).toMatchObject({
          status: "purged",
          problems: [],
          sessions: [{ id }],
        });
        for (const table of ["journals", "journal_entries"]) expect(await rowsOf(table)).toBe("0");
        expect(await server?.run(`select count(*) from carryover.records where id = '"${id}"'`)).toBe("0");

        for (const { child } of [here, far]) child.kill("SIGINT");
        expect([await here.ended, await far.ended]).toEqual([0, 0]);
        const said = [
          here.output(),
          far.output(),
          ...[inUse, undone, offline, dry, purged].flatMap(Object.values),
        ];
        expect(said.join()).not.toContain(server?.password);
        for (const home of [rig, there]) expect(filesWith(home, server?.password ?? "")).toEqual([]);
      } finally {
        await there.stop();
      }
    },
  );

  scenario(
    "a fork is stopped from another home",
    {
      plugin: { store },
      why: "the database is the option",
      twin: "a fork is listed, shown and stopped from another process",
      env,
      timeoutMs: 300_000,
      proves: "`forks` shows what runs elsewhere, `forks cancel` reaches its plugin, and the parent is told",
    },
    async (rig) => {
      const there = await anotherHome();
      try {
        const id = await rig.newSession();
        rig.model.script([call("bash", { command: "sleep 150", description: "Wait" }, { family: "child" })]);
        await rig.turn(id, "Fork it.", [call("fork", { prompt: "Wait.", title: "Waiter" }), say("Forked.")]);
        const running = await rig.waitFor(async () => {
          const { stdout } = await runCarryover(there, "forks", "--json");
          const [fork] = JSON.parse(stdout).forks;
          return fork?.state.startsWith("running") && fork;
        }, "the fork in the list");
        expect(running).toMatchObject({ title: "Waiter", isLive: true, parentSessionId: id });

        rig.model.script([say("It was stopped.", { sessionId: id })]);
        expect((await runCarryover(there, "forks", "cancel", "1")).code).toBe(2);
        const stopped = await runCarryover(there, "forks", "cancel", running.id);
        expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining("is cancelled.") });
        await rig.waitFor(
          () =>
            rig
              .requests({ sessionId: id })
              .some((request) => JSON.stringify(messagesOf(request)).includes("cancelled")),
          "the parent to be told",
        );
        expect((await runCarryover(there, "forks")).stdout).toContain("No forks are recorded");
        expect((await runCarryover(rig, "forks")).stdout).toContain("cancelled after");
      } finally {
        await there.stop();
      }
    },
  );
});

async function rowsOf(table: string): Promise<string | undefined> {
  return server?.run(`select count(*) from carryover.${table}`);
}

/** The files of a sandbox that hold a text, whatever they are. */
function filesWith({ sandbox }: Rig, text: string): readonly string[] {
  return readdirSync(sandbox.root, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(sandbox.root, name);
    const size = statSync(path, { throwIfNoEntry: false });
    return size?.isFile() === true && readFileSync(path).includes(text);
  });
}
