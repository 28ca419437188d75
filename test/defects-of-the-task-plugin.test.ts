import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { describe, expect, it, onTestFinished } from "vitest";
import { deliveryIdsIn } from "../src/fork/life/notice.ts";
import { readForkRecord } from "../src/fork/life/stored-record.ts";
import type { Hooks, ToolContext } from "../src/hosts/opencode/hooks.ts";
import { createServer } from "../src/hosts/opencode/server.ts";
import { createFileRecordStore } from "../src/stores/files/record-store.ts";
import {
  AT_MS,
  afterEvents,
  completedFork,
  endedRun,
  OWNER,
  runningFork,
  sampleFork,
  step,
  watchedUntil,
} from "./rig/forks/fork-samples.ts";
import { removeFolder } from "./rig/remove-folder.ts";

// The same defects one step further in, as steps of the pure life of a fork: src/fork/life/fork-defects.test.ts.
describe("defects of the original task plugin, each put right", () => {
  it("a session that is created ends no fork", async () => {
    const host = await startHost();
    await host.fork("Look.");
    await host.fire("session.created", { info: { id: "ses_other" } });
    await host.fire("session.created", { info: host.session("ses_child1") });
    await host.childSays("ses_child1", "The report.");
    await host.untilDelivered(1);
    expect(host.paths()).not.toContain("/session/ses_child1/abort");
    expect(host.delivered()).toContain("The report.");
  });

  it("events come by the plugin's own hook, and nothing is subscribed to", async () => {
    const host = await startHost();
    await host.fork("Look.");
    await host.childSays("ses_child1", "The report.");
    await host.untilDelivered(1);
    expect(typeof host.hooks.event).toBe("function");
    expect(host.paths().filter((path) => path.includes("event"))).toEqual([]);
  });

  it("an error of the session is reported as failed", async () => {
    const host = await startHost();
    await host.fork("Look.");
    const error = { name: "APIError", data: { message: "The model is on strike.", statusCode: 400 } };
    await host.childFails("ses_child1", error);
    await host.untilDelivered(1);
    expect(host.delivered()).toContain('state="failed"');
    expect(host.delivered()).toContain("The model is on strike.");
    expect(host.delivered()).not.toContain("completed");
  });

  it("a resume that has to wait is stored, and runs when a slot is free", async () => {
    const host = await startHost({ fork: { maxRunning: 1 } });
    await host.fork("First.");
    await host.childSays("ses_child1", "The first report.");
    await host.untilDelivered(1);
    await host.fork("Second.");
    expect(await host.tool("fork", { prompt: "Go on.", resume: "1" })).toContain("continues where it ended");
    const waiting = (await host.records()).find(({ number }) => number === 1);
    expect(waiting?.runs.map(({ state }) => state)).toEqual(["completed", "queued"]);
    await host.childSays("ses_child2", "The second report.");
    await host.until(() => host.promptsTo("ses_child1").some((text) => text.includes("Go on.")));
  });

  it("a parent that cannot be looked up ends nothing, and one that is deleted only its own forks", async () => {
    const host = await startHost();
    await host.fork("Look.", "ses_parent");
    await host.fork("Look there.", "ses_second");
    host.breakPath(/^\/session\/ses_parent$/);
    await host.fire("session.updated", { info: { id: "ses_parent" } });
    await host.fire("session.deleted", { info: { id: "ses_second" } });
    await host.until(() => host.paths().includes("/session/ses_child2/abort"));
    expect(host.paths()).not.toContain("/session/ses_child1/abort");
    expect(
      (await host.records()).find(({ parentSessionId }) => parentSessionId === "ses_parent"),
    ).toMatchObject({ runs: [{ state: "running" }] });
  });

  it("a cancelled fork is stored as such, and its parent gets what there was", async () => {
    const host = await startHost();
    await host.fork("Look.");
    host.store("ses_child1", { role: "assistant" }, "Half of it.");
    expect(await host.tool("fork_cancel", { id: "1" })).toContain("Half of it.");
    expect(await host.records()).toMatchObject([{ runs: [{ state: "cancelled", text: "Half of it." }] }]);
  });

  it("twenty records stored at once are all kept", async () => {
    const root = folder();
    const store = createFileRecordStore({ root });
    const ids = Array.from({ length: 20 }, (_, index) => `f${index}`);
    await Promise.all(ids.map((id) => store.put({ id, value: sampleFork({ id }), expected: "missing" })));
    const listed = await createFileRecordStore({ root }).list();
    expect(listed.status === "listed" && listed.records.map(({ id }) => id)).toEqual(ids.toSorted());
    expect(listed.status === "listed" && listed.problems).toEqual([]);
  });

  it("a transcript shows what was said and done, keeps thoughts to the child, and takes no limit of 0", async () => {
    const host = await startHost();
    await host.fork("Look.");
    await host.childSays("ses_child1", "The report.", [
      { type: "reasoning", text: "SECRET THOUGHT" },
      { type: "tool", tool: "bash", callID: "c", state: { status: "completed", input: {}, output: "grey" } },
    ]);
    await host.untilDelivered(1);
    const shown = await host.tool("fork_result", { id: "1", view: "transcript" });
    expect(shown).toContain("The report.");
    expect(shown).toContain("grey");
    expect(shown).not.toContain("SECRET THOUGHT");
    expect(await host.tool("fork_result", { id: "1", view: "transcript", limit: 0 })).toContain("limit");
    expect(await host.tool("fork_result", { id: "1", view: "transcript", after: 99 })).not.toContain("grey");
  });

  it("a minute in which nothing is heard costs two looks at the status and no history", () => {
    const looks: string[] = [];
    let record = runningFork();
    for (let second = 1; second <= 60; second++) {
      const next = step(record, { type: "tick", atMs: AT_MS + second * 1_000 });
      record = next.record;
      looks.push(...next.actions.map(({ type }) => type));
    }
    expect(looks).toEqual(["look-at-status", "look-at-status"]);
  });

  it("all of a fork survives a restart, and what ran is settled", () => {
    const failed = afterEvents(runningFork(), { type: "child-deleted", atMs: AT_MS + 5 });
    for (const record of [completedFork(), failed])
      expect(readForkRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
    expect(endedRun(failed)).toMatchObject({ endedAtMs: AT_MS + 5, error: { kind: "child-deleted" } });
    const taken = step(runningFork(), { type: "adopted", owner: { ...OWNER, instanceId: "i2" } });
    const finding = { type: "stopped", lastText: "Half.", changedFiles: [] } as const;
    const settled = afterEvents(taken.record, {
      type: "child-checked",
      run: 1,
      finding,
      atMs: AT_MS + 9_000,
    });
    expect(endedRun(settled)).toMatchObject({ state: "interrupted", text: "Half." });
  });

  it("a prompt that the host rejects ends the fork as failed", async () => {
    const host = await startHost();
    host.breakPath(/^\/session\/ses_child1\/prompt_async$/);
    await host.tool("fork", { prompt: "Look." });
    await host.untilDelivered(1);
    expect(host.delivered()).toContain('state="failed"');
  });

  it("a resumed run that is out of time is timed out, and one that is cancelled is cancelled", () => {
    const resumed = afterEvents(
      completedFork(),
      { type: "resume-asked", task: "go on", requestId: "r1" },
      { type: "slot-given" },
      { type: "prompt-accepted", run: 2, prompt: 1, messageId: "m9" },
    );
    const stopped = { type: "child-stopped", run: 2, text: "half", changedFiles: [] } as const;
    const late = watchedUntil(resumed, AT_MS + 22 * 60_000);
    expect(endedRun(afterEvents(late, stopped)).state).toBe("timed-out");
    const cancel = { type: "cancel-asked", reason: "not needed" } as const;
    expect(endedRun(afterEvents(resumed, cancel, stopped)).state).toBe("cancelled");
  });

  it("the plugin has no server, no port, no announcement and no page", async () => {
    const bundle = await rolldown({
      input: resolve(import.meta.dirname, "../src/server.ts"),
      platform: "node",
    });
    const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
    await bundle.close();
    const [{ imports, code }] = output;
    const network = ["http", "https", "http2", "net", "dgram", "tls", "dns", "cluster", "child_process"];
    expect(imports.filter((name) => network.includes(name.replace(/^node:/, "")))).toEqual([]);
    expect(imports.filter((name) => !name.startsWith("node:"))).toEqual([]);
    expect(
      /\.listen\(|Bun\.serve|Deno\.serve|Access-Control-Allow|bonjour|mdns/i.exec(code)?.[0],
    ).toBeUndefined();
  });

  it("forks of one parent are not named, listed or stopped from another", async () => {
    const host = await startHost();
    await host.fork("Look.", "ses_parent");
    await host.fork("Look there.", "ses_second");
    expect(await host.tool("fork_cancel", { id: "all" }, "ses_third")).toBe("No fork is running.");
    expect(await host.tool("fork_result", {}, "ses_second")).not.toContain("Look.");
    expect(await host.tool("fork_cancel", { id: "fk_" }, "ses_parent")).toContain("There is no fork");
    expect(host.paths().filter((path) => path.endsWith("/abort"))).toEqual([]);
  });

  it("ends that come together, good and bad, are one prompt to the parent", async () => {
    const host = await startHost();
    await host.fork("Look.");
    await host.fork("Look there.");
    await host.fire("session.status", { sessionID: "ses_parent", status: { type: "busy" } });
    await host.childSays("ses_child1", "The report.");
    await host.childFails("ses_child2", {
      name: "APIError",
      data: { message: "On strike.", statusCode: 400 },
    });
    await host.until(async () =>
      (await host.records()).every(({ runs }) => ["completed", "failed"].includes(runs[0]?.state ?? "")),
    );
    await host.fire("session.idle", { sessionID: "ses_parent" });
    await host.untilDelivered(2);
    expect(host.promptsTo("ses_parent")).toHaveLength(1);
    expect(host.delivered()).toContain("The report.");
    expect(host.delivered()).toContain("On strike.");
  });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "carryover-defects-"));
  onTestFinished(() => removeFolder(path));
  return path;
}

interface Stored {
  readonly info: Readonly<Record<string, unknown>>;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

/** The plugin in a host that keeps its sessions in memory, and does only what it is asked. */
async function startHost(options: Readonly<Record<string, unknown>> = {}) {
  const store = folder();
  const calls: string[] = [];
  const broken: RegExp[] = [];
  const sessions = new Map<string, Readonly<Record<string, unknown>>>();
  const messages = new Map<string, Stored[]>();
  for (const id of ["ses_parent", "ses_second", "ses_third"]) sessions.set(id, { id });
  let lastId = 0;

  function add(sessionId: string, info: Stored["info"], parts: Stored["parts"]): void {
    const id = `msg_${String(++lastId).padStart(6, "0")}`;
    const stored = { info: { id, sessionID: sessionId, ...info }, parts };
    messages.set(sessionId, [...(messages.get(sessionId) ?? []), stored]);
  }

  async function fetch(request: Request): Promise<Response> {
    const { pathname: path } = new URL(request.url);
    const text = await request.text();
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    calls.push(path);
    if (broken.some((pattern) => pattern.test(path))) return new Response("broken", { status: 400 });
    const [, kind, id = "", sub, messageId] = path.split("/");
    if (kind === "agent") return Response.json([{ name: "build", mode: "primary", permission: [] }]);
    if (kind !== "session") return Response.json({});
    if (request.method === "POST" && id === "") {
      const made = { ...body, id: `ses_child${sessions.size - 2}` };
      sessions.set(made.id, made);
      return Response.json(made);
    }
    if (id === "" || id === "status") return Response.json(id === "" ? [...sessions.values()] : {});
    const session = sessions.get(id);
    if (session === undefined) return new Response("no such session", { status: 404 });
    const stored = messages.get(id) ?? [];
    if (sub === "prompt_async" || (sub === "message" && request.method === "POST")) {
      add(id, { id: body.messageID, role: "user" }, body.parts as Stored["parts"]);
      return Response.json({});
    }
    if (messageId !== undefined) {
      const found = stored.find(({ info }) => info.id === messageId);
      return found === undefined ? new Response("", { status: 404 }) : Response.json(found);
    }
    return Response.json(sub === "message" ? stored : sub === "children" ? [] : session);
  }

  const client = { _client: { getConfig: () => ({ baseUrl: "http://host.invalid", fetch }) } };
  const hooks: Hooks = await createServer(
    { client, directory: store, worktree: store },
    { store, log: "off", ...options },
  );
  onTestFinished(async () => hooks.dispose?.());
  const until = (condition: () => unknown): Promise<void> =>
    expect.poll(async () => Boolean(await condition()), { timeout: 30_000, interval: 50 }).toBe(true);
  const promptsTo = (sessionId: string): readonly string[] =>
    (messages.get(sessionId) ?? [])
      .filter(({ info }) => info.role === "user")
      .map(({ parts }) => parts.map(({ text }) => String(text)).join("\n"));
  const delivered = (): string => promptsTo("ses_parent").join("\n");
  const fire = async (type: string, properties: Readonly<Record<string, unknown>>): Promise<void> =>
    hooks.event?.({ event: { type, properties } });
  const tool = async (name: string, args: unknown, sessionID = "ses_parent"): Promise<string> => {
    const callID = `call_${++lastId}`;
    const messageID = `msg_${callID}`;
    const state = { status: "completed", input: args, output: "", time: { start: 1, end: 2 } };
    add(sessionID, { id: messageID, role: "assistant", finish: "tool-calls" }, [
      { type: "tool", callID, tool: name, state },
    ]);
    const context: ToolContext = {
      sessionID,
      messageID,
      callID,
      agent: "build",
      abort: new AbortController().signal,
      extra: { model: { id: "m", providerID: "p" } },
      metadata: () => {},
      ask: async () => {},
    };
    return String(await hooks.tool?.[name]?.execute(args, context));
  };
  return {
    hooks,
    fire,
    tool,
    until,
    promptsTo,
    delivered,
    paths: (): readonly string[] => calls,
    session: (id: string) => sessions.get(id),
    breakPath: (pattern: RegExp) => void broken.push(pattern),
    store: (sessionId: string, info: Stored["info"], text: string) =>
      add(sessionId, info, [{ type: "text", text }]),
    untilDelivered: (count: number) => until(() => deliveryIdsIn(delivered()).length >= count),
    /** Forks, and waits until the child has its task if it got a slot. */
    async fork(prompt: string, sessionId = "ses_parent"): Promise<void> {
      const answer = await tool("fork", { prompt }, sessionId);
      if (answer.includes("is queued")) return;
      await until(() =>
        // What a child inherits names the prompt too, in the call that asked for it.
        [...sessions.keys()].some((id) => promptsTo(id).some((text) => text.includes(`<task>\n${prompt}`))),
      );
    },
    async childSays(id: string, text: string, parts: Stored["parts"] = []): Promise<void> {
      add(id, { role: "assistant", finish: "stop" }, [...parts, { type: "text", text }]);
      await fire("session.idle", { sessionID: id });
    },
    async childFails(id: string, error: unknown): Promise<void> {
      add(id, { role: "assistant", error }, []);
      await fire("session.error", { sessionID: id, error });
      await fire("session.idle", { sessionID: id });
    },
    async records() {
      const root = join(store, "forks");
      const lists = await Promise.all(
        readdirSync(root).map((name) => createFileRecordStore({ root: join(root, name) }).list()),
      );
      return lists.flatMap((list) =>
        list.status === "listed" ? list.records.flatMap(({ value }) => readForkRecord(value) ?? []) : [],
      );
    },
  };
}
