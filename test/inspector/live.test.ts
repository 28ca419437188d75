import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SessionExport } from "../../src/formats/wires/opencode/decode-messages.ts";
import { createFollowedSession } from "../../src/inspector/server/live/followed-session.ts";
import { serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { buildCli } from "../rig/build-cli.ts";
import { createCliRunner } from "../rig/run-cli.ts";
import { builtPage } from "./server-built-page.ts";
import { ask, enter, tokenOf } from "./server-support.ts";
import { chromiumPath, type PageRig, startPageRig } from "./support/page-rig.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-live-"));
const dataHome = join(home, ".local", "share");
const rowsFile = join(home, "rows.json");
let cli: string;
const carryover = createCliRunner(() => cli);

beforeAll(async () => {
  builtPage();
  cli = await buildCli("cli-inspector-live");
  mkdirSync(join(home, "bin"), { recursive: true });
  mkdirSync(join(dataHome, "opencode"), { recursive: true });
  writeFileSync(join(home, "bin", "opencode"), `#!/bin/sh\ncat '${rowsFile}'\n`, { mode: 0o755 });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** What the database would answer: the session, its messages, and how many there are. */
function store(...texts: readonly string[]): void {
  const row = (kind: string, id: string, fields: object) => ({
    kind,
    id,
    owner: "",
    created: 1,
    updated: 1,
    ...fields,
  });
  const rows = [
    row("session", "ses_live", { owner: "A live one", data: "/home/dev" }),
    ...texts.flatMap((text, index) => [
      row("message", `msg_${index}`, { created: index, data: JSON.stringify({ role: "user" }) }),
      row("part", `prt_${index}`, { owner: `msg_${index}`, data: JSON.stringify({ type: "text", text }) }),
    ]),
    row("counts", "", { created: texts.length, updated: texts.length, data: "" }),
  ];
  writeFileSync(rowsFile, JSON.stringify(rows));
  writeFileSync(join(dataHome, "opencode", "opencode.db-wal"), texts.join());
}

const requestEntry = (messageId: string, cacheReadTokens: number): object => ({
  atMs: 1_760_000_000_000,
  sessionId: "ses_live",
  type: "request",
  messageId,
  model: "p/m",
  inputTokens: 100,
  outputTokens: 10,
  reasoningTokens: 0,
  cacheReadTokens,
  cacheWriteTokens: 0,
  costUSD: 0.25,
});

describe("carryover inspect --live", () => {
  it("says where it looked when the plugin has written nothing", async () => {
    const { status, stderr } = await carryover(["inspect", "--live"], { env: { HOME: join(home, "empty") } });
    expect(status).toBe(2);
    expect(stderr).toMatch(/The plugin has written of no session in .*carryover\n.*carryover doctor/);
  });

  it.each([
    { args: ["--live", "--html", "x.html"], says: "--live serves a page that follows the session" },
    { args: ["--live", "--json"], says: "--live serves a page that follows the session" },
    { args: ["--store", "x"], says: "--store is for --live" },
    { args: ["--port", "99999"], says: "Give a number from 0 to 65535" },
    { args: ["--html", ""], says: "--html needs the name of a file" },
  ])("refuses $args", async ({ args, says }) => {
    const { status, stderr } = await carryover(["inspect", ...args]);
    expect(status).toBe(2);
    expect(stderr).toContain(says);
  });

  it("follows messages and journal of the newest session, and names the others when one is not there", async () => {
    const root = join(dataHome, "carryover", "journal");
    const journal = createFileJournal({ root, session: "ses_live", durable: false });
    await journal.append(requestEntry("msg_1", 0));
    store("one", "two");
    const env = { PATH: `${join(home, "bin")}:${process.env.PATH}`, HOME: home };

    const unknown = await carryover(["inspect", "ses_other", "--live"], { env });
    expect(unknown.stderr).toContain(
      "The plugin has written of no session ses_other\nThose of which it wrote last: ses_live",
    );

    const child = spawn(process.execPath, [cli, "inspect", "--live"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const address = await addressOf(child);
      const served = { origin: new URL(address).origin } as Parameters<typeof ask>[0];
      const token = await enter(served, tokenOf(address));
      const session = await (await ask(served, token, "/api/session")).json();
      expect(session).toMatchObject({
        sessionId: "ses_live",
        title: "A live one",
        workingDirectory: "/home/dev",
        messages: 2,
        live: { revision: 1 },
        problems: [],
      });
      const stream = await ask(served, token, "/api/events?revision=1");
      expect(stream.headers.get("content-type")).toContain("text/event-stream");
      const heard = collect(stream);
      store("one", "two", "three");
      await journal.append(requestEntry("msg_2", 300));
      await expect.poll(heard, { timeout: 30_000 }).toContain('"text":"three"');
      await expect.poll(heard, { timeout: 30_000 }).toContain('"messageId":"msg_2"');
      expect(heard()).toContain('"type":"journal","entries":[{"atMs":1760000000000');
      expect(heard()).not.toContain('"text":"two"');
    } finally {
      child.kill("SIGINT");
      await new Promise((resolve) => child.once("close", resolve));
    }
  });

  it.each([
    { agent: "claude-code", place: ".claude/projects/-p/ID.jsonl", line: claudeLine },
    {
      agent: "codex",
      place: ".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-ID.jsonl",
      line: codexLine,
    },
  ])("follows the newest session of $agent in its file, beside what the hooks wrote", async (each) => {
    const id = "00000001-aaaa-4bbb-8ccc-dddddddddddd";
    const own = join(home, each.agent);
    const file = join(own, each.place.replace("ID", id));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, each.line(id, 0, "one") + each.line(id, 1, "two"));
    const root = join(own, ".local", "share", "carryover", "journal");
    const journal = createFileJournal({ root, session: id, durable: false });
    const trimmed = { type: "tool-output", tool: "Bash", callId: "c", shownChars: 10, totalChars: 900 };
    await journal.append({ atMs: 1_760_000_000_000, sessionId: id, ...trimmed });
    const env = { PATH: process.env.PATH, HOME: own };
    const child = spawn(process.execPath, [cli, "inspect", "--live"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const address = await addressOf(child);
      const served = { origin: new URL(address).origin } as Parameters<typeof ask>[0];
      const token = await enter(served, tokenOf(address));
      const session = await (await ask(served, token, "/api/session")).json();
      expect(session).toMatchObject({ sessionId: id, format: each.agent, messages: 2, problems: [] });
      const heard = collect(await ask(served, token, "/api/events?revision=1"));
      await expect.poll(heard, { timeout: 30_000 }).toContain('"totalChars":900');
      expect(heard()).toContain('"activity":"working"');
      appendFileSync(file, each.line(id, 2, "three"));
      await journal.append({ atMs: 1_760_000_000_001, sessionId: id, type: "restored", chars: 77 });
      await expect.poll(heard, { timeout: 30_000 }).toContain('"text":"three"');
      await expect
        .poll(heard, { timeout: 30_000 })
        .toContain("77 characters were restored after a compaction");
    } finally {
      child.kill("SIGINT");
      await new Promise((resolve) => child.once("close", resolve));
    }
  });
});

function claudeLine(sessionId: string, at: number, text: string): string {
  const parentUuid = at === 0 ? null : `m${at - 1}`;
  const timestamp = new Date(at).toISOString();
  const message = { role: "user", content: text };
  return `${JSON.stringify({ parentUuid, type: "user", message, uuid: `m${at}`, timestamp, sessionId })}\n`;
}

function codexLine(id: string, at: number, text: string): string {
  const timestamp = new Date(at).toISOString();
  const meta = { id, timestamp, cwd: "/p", originator: "codex", cli_version: "0.166.0" };
  const payload = { type: "message", role: "user", content: [{ type: "input_text", text }] };
  const head = at === 0 ? `${JSON.stringify({ timestamp, type: "session_meta", payload: meta })}\n` : "";
  return `${head}${JSON.stringify({ timestamp, type: "response_item", payload })}\n`;
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [, address] = /^Page: (http\S+)\n/m.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once("close", () => reject(new Error(`It ended: ${output}`)));
  });
}

/** Reads on in the background, and gives what came so far. */
function collect(stream: Response): () => string {
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of stream.body ?? []) text += Buffer.from(chunk as Uint8Array).toString();
  };
  void read().catch(() => {});
  return () => text;
}

describe.skipIf(chromiumPath === undefined)("the page of a session that runs", () => {
  let rig: PageRig;
  beforeAll(async () => {
    rig = await startPageRig();
  });
  afterAll(() => rig?.stop());

  const stored = (count: number): SessionExport => ({
    info: { id: "ses_live", title: "A live one" },
    messages: Array.from({ length: count }, (_, index) => ({
      info: { id: `msg_${index}`, role: index % 2 === 0 ? "user" : "assistant" },
      parts: [{ type: "text", text: `This is message ${index}.` }],
    })),
  });

  it("grows with the session, and says what it costs", async () => {
    const source = createFollowedSession({ sessionId: "ses_live", secrets: "redacted" });
    source.updateMessages(stored(3));
    const inspector = await serveInspector({ source, assets: rig.assets });
    const context = await rig.browser.newContext();
    try {
      const page = await context.newPage();
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      await page.goto(inspector.invite());
      const bands = page.locator(".band");
      await expect.poll(() => bands.count(), { timeout: 30_000 }).toBe(3);
      const strip = page.locator(".live");
      expect(page.url()).toBe(`${inspector.origin}/`);

      source.updateMessages(stored(6));
      await expect.poll(() => bands.count(), { timeout: 30_000 }).toBe(6);
      source.updateJournal([requestEntry("msg_1", 0), requestEntry("msg_3", 200)] as never, []);
      source.updateActivity("working");
      await expect.poll(() => strip.textContent(), { timeout: 30_000 }).toContain("working");
      const text = await strip.textContent();
      expect(text).toContain("50 %");
      expect(text).toContain("$0.50");

      source.updateMessages(stored(2));
      await expect.poll(() => bands.count(), { timeout: 30_000 }).toBe(2);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
      await inspector.stop();
    }
  });
});
