import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource } from "../../src/inspector/server/session-source.ts";
import { createInspection } from "../../src/inspector/view/inspection.ts";
import type { PolicyId } from "../../src/inspector/view/types.ts";
import { chromiumPath, type PageRig, startPageRig } from "./support/page-rig.ts";
import { exampleSession, longSession } from "./support/sessions.ts";

const POLICIES = ["fixed", "fill", "session"] as const;

describe.skipIf(chromiumPath === undefined)("the page and its engine", () => {
  let rig: PageRig;
  beforeAll(async () => {
    rig = await startPageRig();
  });
  afterAll(() => rig?.stop());

  it("are two threads: every move of a slider is taken while 10,000 messages are computed", async () => {
    const session = longSession(10_000);
    const inspection = createInspection(session);
    const { page, problems } = await rig.open(session);
    expect(page.workers()).toHaveLength(1);
    const lines: string[] = [];
    const isLong = process.env.CARRYOVER_LONG !== undefined;
    for (const policy of POLICIES.filter((name) => isLong || name === "fill")) {
      await page.selectOption("#policy-a", policy);
      await atRest(page);
      const resting = await dragBudget(page, { moves: 0 });
      const dragged = await dragBudget(page, { moves: 120 });
      lines.push(`${policy}: ${figuresText(dragged)}; at rest ${figuresText(resting)}`);
      expect(dragged.taken).toBeGreaterThan(20);
      expect(dragged.takenWhileBusy).toBe(dragged.taken);
      await atRest(page);
      expect(await page.locator("#window-tokens").innerText()).toBe(
        await expected(page, { policy, inspection }),
      );
    }
    console.log(`The budget dragged over 10,000 messages\n  ${lines.join("\n  ")}`);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("agree in the end, however the sliders were thrown about", async () => {
    const session = await exampleSession();
    const inspection = createInspection(session);
    const { page, problems } = await rig.open(session);
    await page.keyboard.press("c");
    await page.selectOption("#policy-a", "fill");
    await page.selectOption("#policy-b", "last-n");
    await page.evaluate(THROW_ABOUT);
    await atRest(page);
    const upTo = Number(await page.locator("#time").inputValue());
    const view = async (side: "a" | "b", policy: PolicyId) =>
      inspection.inspectWindow({
        policy,
        budgetTokens: Number(await page.locator(`#exact-${side}`).inputValue()),
        upTo,
      });
    const [a, b] = [await view("a", "fill"), await view("b", "last-n")];
    const number = (value: number): string => value.toLocaleString("en-US");
    expect(await page.locator(".difference").innerText()).toContain(
      `A leaves ${number(a.size.tokens)} tokens, B ${number(b.size.tokens)}`,
    );
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it("are served from one address", async () => {
    const inspector = await serveInspector({
      source: createFixedSource(await exampleSession()),
      assets: rig.assets,
    });
    const context = await rig.browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(inspector.invite());
      await page.locator(".strata").waitFor();
      expect(page.workers().map((worker) => worker.url())).toEqual([`${inspector.origin}/app.js`]);
      expect(await page.evaluate(OTHER_WORKERS)).toEqual(["refused", "refused", "refused"]);
      expect(await page.workers()[0]?.evaluate(ASK_ELSEWHERE)).toBe("connect-src");
    } finally {
      await context.close();
      await inspector.stop();
    }
  });

  it("let nobody start another worker in the single file, and ask nobody", async () => {
    const { page } = await rig.open(await exampleSession());
    expect(page.workers()).toHaveLength(1);
    expect(await page.evaluate(OTHER_WORKERS)).toEqual(["refused", "refused", "refused"]);
    expect(await page.workers()[0]?.evaluate(ASK_ELSEWHERE)).toBe("connect-src");
    await page.context().close();
  });

  it.each([
    { name: "the browser has none", options: { before: "delete globalThis.Worker" } },
    {
      name: "the browser refuses",
      options: { before: "globalThis.Worker = class { constructor() { throw new Error('no') } }" },
    },
    {
      name: "a policy forbids it",
      options: { html: (made: string) => made.replace("worker-src blob:", "worker-src 'none'") },
    },
    { name: "its script fails", options: { before: BROKEN_WORKER } },
  ])("are one thread where $name, which the console says once", async ({ options }) => {
    const session = await exampleSession();
    const inspection = createInspection(session);
    const { page, problems } = await rig.open(session, options);
    expect(page.workers()).toHaveLength(0);
    await page.selectOption("#policy-a", "fill");
    await page.locator("#budget-a").fill("70");
    await atRest(page);
    expect(await page.locator("#window-tokens").innerText()).toBe(
      await expected(page, { policy: "fill", inspection }),
    );
    await page.locator(".band.item").first().click();
    await page.getByLabel("Text before").waitFor();
    await page.getByRole("tab", { name: "Child" }).click();
    await page.getByLabel("What a child would read").waitFor();
    const said = problems.filter((problem) => problem.includes("on the page's own thread"));
    expect(said).toHaveLength(1);
    // What a policy forbids the browser says as well.
    expect(problems.filter((problem) => !/own thread|Content Security Policy/.test(problem))).toEqual([]);
    await page.context().close();
  });
});

/** Waits until the answer to what was asked last is shown. */
async function atRest(page: Page): Promise<void> {
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)))");
  await page.locator(".left[aria-busy=false]").waitFor();
}

interface Expected {
  readonly policy: PolicyId;
  readonly inspection: ReturnType<typeof createInspection>;
}

async function expected(page: Page, { policy, inspection }: Expected): Promise<string> {
  const budgetTokens = Number(await page.locator("#exact-a").inputValue());
  return inspection.inspectWindow({ policy, budgetTokens }).size.tokens.toLocaleString("en-US");
}

interface DragFigures {
  readonly frames: number;
  readonly dropped: number;
  readonly worstMs: number;
  /** How many moves the slider's own words followed within a frame, and how many of those while the engine computed. */
  readonly taken: number;
  readonly takenWhileBusy: number;
  readonly views: number;
  /** What the page's thread really worked at once; what other programs of a busy machine did is not in it. */
  readonly ownTasksMs: readonly number[];
}

function figuresText({ frames, dropped, worstMs, takenWhileBusy, views, ownTasksMs }: DragFigures): string {
  const long = ownTasksMs.filter((taskMs) => taskMs > 1_000 / 60);
  return [
    `${dropped} of ${frames + dropped} frames dropped, longest ${worstMs.toFixed(0)} ms`,
    `by the page's own work ${long.length}, longest ${Math.max(0, ...ownTasksMs).toFixed(0)} ms`,
    `${takenWhileBusy} moves taken while it computed, ${views} views`,
  ].join("; ");
}

/** Moves the slider one step a frame, resting now and then as a hand does, and looks at the time between frames. */
async function dragBudget(page: Page, { moves }: { readonly moves: number }): Promise<DragFigures> {
  const program = `(async () => {
    const slider = document.querySelector("#budget-a");
    const strata = document.querySelector(".left");
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const views = new Set();
    let lastMs = await next();
    let dropped = 0, worstMs = 0, taken = 0, takenWhileBusy = 0;
    const frames = 200;
    for (let frame = 0, step = 0; frame < frames; frame++) {
      const before = slider.ariaValueText;
      if (step < ${moves} && frame % 50 < 30) {
        slider.value = String(++step);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
      }
      const nowMs = await next();
      if (slider.ariaValueText !== before) {
        taken++;
        if (strata.ariaBusy === "true") takenWhileBusy++;
      }
      views.add(document.querySelector("#window-tokens").textContent);
      const deltaMs = nowMs - lastMs;
      lastMs = nowMs;
      dropped += Math.max(0, Math.round(deltaMs / (1000 / 60)) - 1);
      worstMs = Math.max(worstMs, deltaMs);
    }
    return { frames, dropped, worstMs, taken, takenWhileBusy, views: views.size };
  })()`;
  const browser = page.context().browser();
  await browser?.startTracing(page, { categories: ["toplevel"] });
  const figures = (await page.evaluate(program)) as Omit<DragFigures, "ownTasksMs">;
  return { ...figures, ownTasksMs: ownTasksMs(await browser?.stopTracing()) };
}

/** How long each task of the page's own thread had a processor. */
function ownTasksMs(trace: Buffer | undefined): readonly number[] {
  const { traceEvents = [] } = JSON.parse(trace?.toString() ?? "{}") as {
    readonly traceEvents?: TraceEvent[];
  };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;
  const pages = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(threadOf),
  );
  return traceEvents
    .filter((event) => event.name === "ThreadControllerImpl::RunTask" && pages.has(threadOf(event)))
    .map(({ tdur = 0 }) => tdur / 1_000);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly args?: { readonly name?: string };
  /** Microseconds of processor time. */
  readonly tdur?: number;
}

/** Two hundred moves of three sliders, some in one frame and some not, always the same ones. */
const THROW_ABOUT = `(async () => {
  let seed = 7;
  const chance = (most) => (seed = (seed * 48271) % 2147483647) % most;
  const sliders = ["#budget-a", "#budget-b", "#time"].map((name) => document.querySelector(name));
  for (let move = 0; move < 200; move++) {
    const slider = sliders[chance(3)];
    slider.value = String(Number(slider.min) + chance(Number(slider.max) - Number(slider.min) + 1));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    if (chance(3) === 0) await new Promise(requestAnimationFrame);
  }
})()`;

/** Tries a worker from a text, from a policy of one's own, and from the name of ours. */
const OTHER_WORKERS = `["plain", "other", "carryover-engine"].map((name) => {
  try {
    const address = URL.createObjectURL(new Blob(["postMessage(1)"], { type: "text/javascript" }));
    const url = name === "plain" ? address
      : trustedTypes.createPolicy(name, { createScriptURL: (text) => text }).createScriptURL(address);
    new Worker(url);
    return "started";
  } catch {
    return "refused";
  }
})`;

/** Asks another server from inside the worker, and gives the rule that forbids it. */
const ASK_ELSEWHERE = `new Promise((resolve) => {
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective));
  fetch("http://127.0.0.1:9/").then(() => resolve("answered"), () => setTimeout(() => resolve("failed"), 2000));
})`;

/** A worker whose script breaks as soon as it is asked something. */
const BROKEN_WORKER = `{
  const Real = Worker;
  globalThis.Worker = class extends Real {
    postMessage() { this.dispatchEvent(new ErrorEvent("error", { message: "broken" })); }
  };
}`;
