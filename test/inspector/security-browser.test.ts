import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderSingleFile } from "../../src/inspector/server/page-html.ts";
import { serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource, type LiveSource } from "../../src/inspector/server/session-source.ts";
import type { LiveEvent } from "../../src/inspector/view/protocol.ts";
import type { InspectedSession } from "../../src/inspector/view/types.ts";
import type { Message } from "../../src/transcript/message.ts";
import type { Part, ToolPart } from "../../src/transcript/part.ts";
import { HOSTILE_TEXTS } from "./server-hostile-texts.ts";
import { chromiumPath, type PageRig, startPageRig } from "./support/page-rig.ts";

const fixtures = resolve(import.meta.dirname, "../../../shared/fixtures/hostile-inputs.mjs");
const isThere = existsSync(fixtures);
if (!isThere)
  console.log("security-browser: the texts of ../shared/fixtures are not there, ours are used alone");
const { xss } = isThere
  ? ((await import(pathToFileURL(fixtures).href)) as { readonly xss: readonly string[] })
  : { xss: [] };

/** Every text in each of the eight places, and in a few more. */
function hostileSession(texts: readonly string[]): InspectedSession {
  const all = texts.join(" ");
  return {
    name: all,
    title: all,
    format: "opencode",
    sessionId: all,
    model: all,
    windowTokens: 200_000,
    windowKnown: false,
    workingDirectory: all,
    redactedSecrets: 0,
    problems: [...texts],
    transcript: texts.flatMap(hostileMessages),
  };
}

function hostileMessages(hostile: string, index: number): readonly Message[] {
  const tool = (part: Partial<ToolPart>): ToolPart => ({
    type: "tool",
    callId: `call-${index}`,
    tool: "bash",
    input: {},
    outcome: { status: "done", output: "done", attachments: [] },
    ...part,
  });
  const parts: readonly Part[] = [
    tool({ tool: hostile }),
    tool({ callId: hostile }),
    tool({ outcome: { status: "done", output: hostile.repeat(40), attachments: [] } }),
    tool({ input: { command: hostile, [hostile]: hostile } }),
    tool({ tool: "read", input: { filePath: hostile } }),
    tool({ outcome: { status: "failed", error: hostile } }),
    { type: "reasoning", text: hostile },
    { type: "opaque", name: hostile },
    { type: "file", mime: hostile, filename: hostile },
  ];
  const user = { role: "user", parts: [{ type: "text", text: hostile }] } as const;
  return [
    { id: `marker-${index}`, role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
    { ...user, id: `summary-${index}`, role: "assistant", summary: true, finish: "stop" },
    { ...user, id: hostile },
    { id: `calls-${index}`, role: "assistant", error: { name: hostile, text: hostile }, parts },
    { ...user, id: `role-${index}`, role: hostile },
  ];
}

/** What would be there if anything of the session had run. */
interface Signs {
  readonly ran: readonly string[];
  readonly breaches: readonly string[];
  /** How many bands were opened. */
  readonly opened: number;
  /** Texts that the page never showed. */
  readonly unseen: readonly string[];
}

const WATCH = `
  globalThis.ran = [];
  globalThis.breaches = [];
  document.addEventListener("securitypolicyviolation", (event) =>
    breaches.push(event.violatedDirective + " " + event.blockedURI));`;

/** Hovers over and opens everything that the page shows, and gives what happened and which texts were to be read. */
const PLAY = `(async (texts) => {
  const frame = () => new Promise(requestAnimationFrame);
  const unseen = new Set(texts);
  const look = async () => {
    do await frame(); while (document.querySelector(".busy[data-state=working]") !== null);
    const said = document.body.textContent;
    for (const text of unseen) if (said.includes(text.trim().slice(0, 20))) unseen.delete(text);
  };
  const scroller = document.querySelector(".scroller");
  const opened = new Set();
  for (let top = 0; top < scroller.scrollHeight; top += scroller.clientHeight / 2) {
    scroller.scrollTop = top;
    await frame();
    for (const band of document.querySelectorAll(".band")) {
      if (!band.isConnected || opened.has(band.dataset.key)) continue;
      opened.add(band.dataset.key);
      band.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      band.click();
      await look();
    }
  }
  for (const tab of document.querySelectorAll('[role="tab"]')) { tab.click(); await look(); }
  const box = document.querySelector("#search");
  for (const text of texts) {
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await look();
  }
  return { ran, breaches, opened: opened.size, unseen: [...unseen] };
})`;

let rig: PageRig;
const folder = mkdtempSync(join(tmpdir(), "carryover-hostile-"));
beforeAll(async () => {
  if (chromiumPath !== undefined) rig = await startPageRig();
});
afterAll(async () => {
  await rig?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens an address, plays with the page, and gives everything that should not have happened. */
async function signsAt(
  address: string,
  texts: readonly string[],
): Promise<Signs & { readonly events: string[] }> {
  const context = await rig.browser.newContext({ viewport: { width: 1_400, height: 1_600 } });
  const page = await context.newPage();
  const events: string[] = [];
  const { origin } = new URL(address);
  page.on("dialog", (dialog) => {
    events.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => events.push(`error ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") events.push(message.text());
  });
  page.on("popup", () => events.push("a new window"));
  page.on("request", (request) => {
    const url = request.url();
    // The single file's worker is its own script again, as a blob.
    const isOwn =
      origin === "null" ? url === address || url.startsWith("blob:null/") : url.startsWith(`${origin}/`);
    if (!isOwn && url !== "data:,") events.push(`asked for ${url}`);
  });
  await page.addInitScript(WATCH);
  await page.goto(address);
  await page.locator(".strata").waitFor();
  const signs = (await page.evaluate(`${PLAY}(${JSON.stringify(texts)})`)) as Signs;
  await context.close();
  return { ...signs, events };
}

const NOTHING = { ran: [], breaches: [], events: [], unseen: [] };

const LISTS = [
  { whose: "ours", texts: HOSTILE_TEXTS },
  ...(isThere ? [{ whose: "the founding papers", texts: xss }] : []),
];

describe.skipIf(chromiumPath === undefined)("30 hostile texts in eight places", { timeout: 300_000 }, () => {
  it.each(LISTS)("are 30 of $whose", ({ texts }) => expect(new Set(texts).size).toBe(30));

  it("would be noticed if one of them ran", async () => {
    const file = join(folder, "broken.html");
    const page = '<div class="strata scroller">x</div><input id="search"><img src="http://127.0.0.1:9/x">';
    writeFileSync(file, page + HOSTILE_TEXTS.slice(0, 4).join(""));
    const { ran, events } = await signsAt(pathToFileURL(file).href, HOSTILE_TEXTS);
    expect(ran.length).toBeGreaterThan(1);
    expect(events).not.toEqual([]);
  });

  it.each(LISTS)("of $whose run nothing in the single file and ask nobody", async ({ texts }) => {
    const file = join(folder, "session.html");
    writeFileSync(file, [...renderSingleFile(hostileSession(texts), rig.assets)].join(""));
    const { opened, ...signs } = await signsAt(pathToFileURL(file).href, texts);
    expect(signs).toEqual(NOTHING);
    expect(opened).toBeGreaterThan(30 * 8);
  });

  it.each(LISTS)("of $whose run nothing in the served page and ask nobody else", async ({ texts }) => {
    const source = createFixedSource(hostileSession(texts));
    const inspector = await serveInspector({ source, assets: rig.assets });
    try {
      const { opened, ...signs } = await signsAt(inspector.invite(), texts);
      expect(signs).toEqual(NOTHING);
      expect(opened).toBeGreaterThan(30 * 8);
    } finally {
      await inspector.stop();
    }
  });

  it("run nothing when they come while the session is followed", async () => {
    const { transcript, ...session } = hostileSession(HOSTILE_TEXTS.slice(0, 3));
    const events = HOSTILE_TEXTS.flatMap(hostileEvents);
    const live: LiveSource = {
      revision: () => 0,
      listen(listener) {
        for (const event of events) listener(event);
        return () => {};
      },
    };
    const source = { ...createFixedSource({ ...session, transcript }), live };
    const inspector = await serveInspector({ source, assets: rig.assets });
    try {
      const { opened, ...signs } = await signsAt(inspector.invite(), HOSTILE_TEXTS.slice(-1));
      expect(signs).toEqual(NOTHING);
    } finally {
      await inspector.stop();
    }
  });
});

/** A fork, a failed request and a note that say the text. */
function hostileEvents(hostile: string): readonly LiveEvent[] {
  const moment = { atMs: 1_760_000_000_000, sessionId: hostile };
  const { transcript: _, ...session } = hostileSession([hostile]);
  return [
    {
      type: "session",
      session,
      activity: "working",
      forks: [
        {
          id: hostile,
          number: 1,
          title: hostile,
          state: hostile,
          isLive: true,
          inherit: hostile,
          calls: 1,
          tokens: 1,
          costUSD: 1,
          error: hostile,
        },
      ],
    },
    {
      type: "journal",
      entries: [
        { ...moment, type: "note", text: hostile },
        { ...moment, type: "fork", fork: hostile, number: 1, state: hostile, because: hostile },
        { ...moment, type: "tool-output", tool: hostile, shownChars: 1, totalChars: 2 },
      ],
    },
  ];
}
