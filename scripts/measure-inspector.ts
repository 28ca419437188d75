import { type PageRig, startPageRig } from "../test/inspector/support/page-rig.ts";
import { longSession } from "../test/inspector/support/sessions.ts";

// Measures the main-thread time of a frame from Chromium's trace, while time is dragged over 10,000 messages.
const MESSAGES = 10_000;
const MOVES = 300;
const WORK: ReadonlySet<string> = new Set([
  "FunctionCall",
  "EvaluateScript",
  "FireAnimationFrame",
  "TimerFire",
  "EventDispatch",
  "RunMicrotasks",
  "HandlePostMessage",
  "UpdateLayoutTree",
  "Layout",
  "PrePaint",
]);
const rig: PageRig = await startPageRig();
try {
  const { page } = await rig.open(longSession(MESSAGES));
  await page.locator(".chart canvas").waitFor();
  await page.locator(".left[aria-busy=false]").waitFor();
  await rig.browser.startTracing(page, { categories: ["devtools.timeline", "toplevel"] });
  await page.evaluate(`new Promise((done) => {
    const time = document.getElementById("time");
    let moves = 0;
    const move = () => {
      time.value = String(Math.round(${MESSAGES} * (0.5 + 0.49 * Math.sin(moves / 25))));
      time.dispatchEvent(new Event("input", { bubbles: true }));
      if (++moves < ${MOVES}) requestAnimationFrame(move); else done();
    };
    requestAnimationFrame(move);
  })`);
  const frames = frameCosts(JSON.parse((await rig.browser.stopTracing()).toString()).traceEvents);
  const at = (share: number): string =>
    (frames[Math.floor((frames.length - 1) * share)] ?? Number.NaN).toFixed(1);
  console.log(
    `${MESSAGES} messages, ${frames.length} frames while time is dragged: script and layout ${at(0.5)} ms at the median, ${at(0.9)} ms at 90 %, ${at(1)} ms at most`,
  );
  await page.context().close();
} finally {
  await rig.stop();
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly ts: number;
  readonly dur?: number;
  /** CPU time of the thread. */
  readonly tdur?: number;
  readonly tid: number;
  readonly pid: number;
  readonly args?: { readonly name?: string };
}

/** Milliseconds of script, style and layout in each frame, the cheapest first. */
function frameCosts(events: readonly TraceEvent[]): readonly number[] {
  const frameStarts = events.filter(({ name }) => name === "FireAnimationFrame").sort((a, b) => a.ts - b.ts);
  const [first] = frameStarts;
  if (first === undefined) return [];
  const work = events
    .filter(({ name, pid, tid }) => pid === first.pid && tid === first.tid && WORK.has(name))
    .sort((a, b) => a.ts - b.ts);
  const costs = frameStarts.slice(0, -1).map(() => 0);
  let frame = 0;
  let end = 0;
  for (const { ts, dur = 0, tdur = dur } of work) {
    while (frame < costs.length - 1 && ts >= (frameStarts[frame + 1]?.ts ?? Number.POSITIVE_INFINITY))
      frame++;
    // Layout forced by a script is part of the script's time.
    if (ts < end) continue;
    end = ts + dur;
    if (ts >= first.ts) costs[frame] = (costs[frame] ?? 0) + tdur / 1_000;
  }
  return costs.sort((a, b) => a - b);
}
