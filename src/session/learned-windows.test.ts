import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { playAgainst, prose, type RealWindow, type Turn } from "../../test/rig/real-window.ts";
import { SUMMARY } from "../../test/rig/session.ts";
import { classifyProviderError } from "../compaction/provider-errors/classify-provider-error.ts";
import { createSession } from "./session.ts";

interface OverflowCase {
  readonly id: string;
  readonly provider: string;
  readonly status?: number | null;
  readonly code?: string | null;
  readonly message: string;
  readonly isOverflow: boolean;
  readonly kind?: string;
  readonly observed?: number;
  readonly limit?: number;
}

const MIN_FIGURE = 1_000;
const FIXTURE = new URL("../../../shared/fixtures/overflow-errors.json", import.meta.url);
const cases: readonly OverflowCase[] = existsSync(FIXTURE)
  ? (JSON.parse(readFileSync(FIXTURE, "utf8")).cases as OverflowCase[]).filter(
      // Figures of one digit cannot be told apart from the digits of others.
      ({ isOverflow, kind, observed = MIN_FIGURE }) =>
        isOverflow && kind === undefined && observed >= MIN_FIGURE,
    )
  : [];

/** The same wording about another request and another window. */
function reword(
  { message, observed, limit, status, code }: OverflowCase,
  sent: number,
  real: number,
): object {
  const write = (text: string, from: number | undefined, to: number): string =>
    from === undefined
      ? text
      : text
          .replaceAll(String(from), String(to))
          .replaceAll(from.toLocaleString("en"), to.toLocaleString("en"));
  const text = write(write(message, observed, -1), limit, real).replaceAll("-1", String(sent));
  return { status: status ?? 400, code, message: text };
}

/** All of it is long: the newest turns of a window of a million tokens alone are megabytes. */
const isLong = process.env.CARRYOVER_LONG !== undefined;
const TURNS = isLong ? 300 : 40;
const REAL_WINDOWS = isLong
  ? [4_000, 64_000, 16_000, 256_000, 4_000, 64_000, 16_000, 1_000_000]
  : [4_000, 8_000];

describe.runIf(cases.length > 0)(
  "a window that nobody knows (../shared/fixtures/overflow-errors.json)",
  () => {
    it.each(
      cases.map((each, index) => ({ ...each, real: REAL_WINDOWS[index % REAL_WINDOWS.length] ?? 4_000 })),
    )("is learned from the wording $id in a window of $real", async (wording) => {
      const { real, provider } = wording;
      const assumed = real * 8;
      const turns = Array.from({ length: TURNS }, (_, index): Turn => {
        // The window is full after some turns, and then again and again.
        const tokens = Math.floor(real / 12);
        return { request: prose(tokens / 10, index), answer: prose(tokens, index + 1) };
      });
      const refusing: RealWindow = {
        windowTokens: real,
        name: provider,
        usage: wording.id.charCodeAt(3) % 2 === 0 ? "reported" : "none",
        refuse: (sent) => reword(wording, sent, real),
      };
      const session = createSession(
        { clock: createFakeClock(), summarizer: createFakeSummarizer(SUMMARY) },
        { model: { provider, id: "m" }, limits: { contextTokens: assumed, outputTokens: 4_096 } },
      );
      const played = await playAgainst(session, turns, refusing);
      const report = classifyProviderError(reword(wording, real + 1, real), { provider });
      expect(played).not.toHaveProperty("gaveUp");
      const { firstRefusedTokens = real } = played;
      const most = report.limitTokens === real ? 1 + 2 : 2 + Math.log2(firstRefusedTokens / real);
      expect([wording.message, played.refusals <= most, played.refusals]).toEqual([
        wording.message,
        true,
        played.refusals,
      ]);
    });
  },
);

it.skipIf(cases.length > 0)("the wordings of ../shared/fixtures are not here", () => {});
