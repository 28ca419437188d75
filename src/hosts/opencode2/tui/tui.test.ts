import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { completedFork, runningFork } from "../../../../test/rig/forks/fork-samples.ts";
import { pluginFolders } from "../../../plugin/stores/folders.ts";
import { openPluginStores } from "../../../plugin/stores/open-stores.ts";
import type { PluginStores } from "../../../plugin/stores/plugin-stores.ts";
import { currentProcess } from "../../../stores/files/process-identity.ts";
import { createNotices } from "../notices.ts";
import { createPanels } from "./draw.ts";
import type { Drawing } from "./drawing.ts";
import { createTui } from "./tui.ts";
import type { TuiContext } from "./tui-context.ts";

let root = "";
let stores: PluginStores;
let end = (): void => {};
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "carryover-tui-"));
  stores = openPluginStores({
    store: root,
    folders: pluginFolders({ store: root, env: {} }),
    now: Date.now,
  });
});
afterEach(() => {
  end();
  rmSync(root, { recursive: true, force: true });
});

const nowMs = Date.now();
const owner = { instanceId: "i1", process: currentProcess(), heartbeatAtMs: nowMs };
const about = { owner, rootSessionId: "ses_1", parentSessionId: "ses_1", atMs: nowMs };

interface Layer {
  readonly commands: readonly { readonly slash: { readonly name: string }; run(): void }[];
}

/** A terminal that shows a session, and what was asked of it. */
function terminal(sessionId: string | undefined) {
  const seen: unknown[] = [];
  const claims: Parameters<TuiContext["ui"]["slot"]>[0][] = [];
  const layers: Layer[] = [];
  const context: TuiContext = {
    theme: {},
    location: { directory: "/project" },
    client: {
      config: {
        get: async () => [{ info: { plugins: [{ package: "carryover", options: { store: root } }] } }],
      },
    },
    data: {
      session: {
        get: (id) => ({ id, location: { directory: "/project" } }),
        message: { list: () => [], sync: async () => {} },
        permission: { list: () => [{ action: "shell", resources: ["npm test"] }] },
      },
      location: { model: { list: () => [] } },
    },
    keymap: { layer: (create) => void layers.push(create() as unknown as Layer) },
    ui: {
      slot: (claim) => claims.push(claim),
      toast: { show: ({ message }) => seen.push(message) },
      dialog: {
        alert: async ({ message }) => seen.push(message),
        select: async ({ options }) => {
          seen.push(options);
          return options.at(-1)?.value;
        },
      },
      router: {
        current: () =>
          sessionId === undefined ? { type: "home" } : { type: "session", sessionID: sessionId },
        navigate: (destination) => seen.push(destination),
      },
    },
  };
  return {
    seen,
    claims,
    context,
    async start() {
      end = await createTui(context);
      for (const claim of claims) claim.render({});
    },
    run: (name: string) => layers[0]?.commands.find(({ slash }) => slash.name === name)?.run(),
  };
}

describe("where the host lends no drawing", () => {
  it("/context says what is known", async () => {
    const { seen, start, run } = terminal("ses_1");
    await start();
    run("context");
    await expect
      .poll(() => seen)
      .toEqual([expect.stringContaining("What left it, and why\n  nothing so far")]);
  });

  it.each(["forks", "context"])("/%s without a conversation says so", async (name) => {
    const { seen, start, run } = terminal(undefined);
    await start();
    run(name);
    expect(seen).toEqual([expect.stringContaining("open one first")]);
  });

  it("/forks says when there are none", async () => {
    const { seen, start, run } = terminal("ses_1");
    await start();
    run("forks");
    await expect.poll(() => seen).toEqual(["This conversation has no forks."]);
  });

  it("/forks lists what is recorded, and the chosen one comes to the screen", async () => {
    const record = runningFork(about);
    await stores.forks("project").put({ id: record.id, value: record, expected: "missing" });
    const { seen, start, run } = terminal("ses_1");
    await start();
    run("forks");
    await expect
      .poll(() => seen)
      .toEqual([
        [{ title: "#1 find the bug", description: expect.stringContaining("0 calls"), value: "child" }],
        { type: "session", sessionID: "child" },
      ]);
  });

  it("in a fork, /forks leads back too", async () => {
    const record = runningFork(about);
    await stores.forks("project").put({ id: record.id, value: record, expected: "missing" });
    const { seen, start, run } = terminal("child");
    await start();
    run("forks");
    await expect.poll(() => seen[0]).toMatchObject([{ value: "ses_1" }, { value: "child" }]);
  });

  it("what the half in the server has to say comes to the terminal of its folder, once", async () => {
    createNotices({ root }).leave("/elsewhere", { text: "not here", tone: "info" });
    createNotices({ root }).leave("/project", { text: "Carryover 9 is loaded.", tone: "info" });
    const { seen, start } = terminal("ses_1");
    await start();
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(["Carryover 9 is loaded."]);
    end();
    const later = terminal(undefined);
    await later.start();
    createNotices({ root }).leave("/project", { text: "The disk is full.", tone: "error" });
    await expect.poll(() => later.seen, { timeout: 5_000 }).toEqual(["The disk is full."]);
  });

  it("the end of a fork is told in a toast", async () => {
    const { seen, start } = terminal("ses_1");
    await start();
    const record = runningFork(about);
    const forks = stores.forks("project");
    const stored = await forks.put({ id: record.id, value: record, expected: "missing" });
    const ended = completedFork(about);
    const version = stored.status === "stored" ? stored.version : 0;
    await forks.put({
      id: record.id,
      value: { ...ended, runs: ended.runs.map((run) => ({ ...run, endedAtMs: Date.now() })) },
      expected: version,
    });
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(["Fork 1 (find the bug) completed"]);
  });
});

it("a program that is not OpenCode's terminal gets nothing", async () => {
  end = await createTui({ options: {} } as unknown as TuiContext);
  expect(end()).toBeUndefined();
});

describe("what is drawn", () => {
  /** Elements as plain data; nothing is followed. */
  const drawing: Drawing = {
    createElement: (tag) => ({ tag, children: [] as unknown[] }),
    insert(parent, child) {
      const value = typeof child === "function" ? child() : child;
      (parent as { children: unknown[] }).children.push(...(Array.isArray(value) ? value : [value]));
    },
    setProp: (node, name, value) => Object.assign(node as object, { [name]: value }),
    effect: (run) => run(),
    createSignal: (initial) => [() => initial, () => undefined],
  };
  const texts = (node: unknown): readonly string[] =>
    typeof node === "string" ? [node] : ((node as { children?: unknown[] })?.children ?? []).flatMap(texts);

  it("is the forks in the sidebar and a line below the prompt", () => {
    const { context, claims } = terminal("ses_1");
    const panels = createPanels(drawing, {
      context,
      current: () => "ses_1",
      forksOf: () => [
        { title: "#1 a", state: "running", facts: ["$0.01"], tone: "running", step: "shell ls" },
      ],
      statusOf: () => "41k saved",
    });
    panels.stop();
    expect(claims.map(({ append, render }) => [append, texts(render({ sessionID: "ses_1" }))])).toEqual([
      ["sidebar.content", ["Forks", "● #1 a", "  running · $0.01", "  ↳ shell ls"]],
      ["prompt.footer.status", ["41k saved"]],
    ]);
  });

  it("is nothing where it cannot be computed", () => {
    const { context, claims } = terminal("ses_1");
    const fail = (): never => {
      throw new Error("no");
    };
    const sources = { context, current: () => "ses_1", forksOf: fail, statusOf: fail };
    createPanels(drawing, sources).stop();
    expect(claims.flatMap(({ render }) => texts(render({ sessionID: "ses_1" })))).toEqual([""]);
  });
});
