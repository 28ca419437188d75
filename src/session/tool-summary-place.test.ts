import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { step, user, words } from "../../test/rig/session.ts";
import type { CompactionSettings } from "../compaction/trigger/compaction-settings.ts";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import { commonLength, type Message, type Transcript } from "../transcript/message.ts";

const LIMITS = { contextTokens: 200_000, outputTokens: 4_000 };

/** What is sent after each step of a loop, with parallel calls in every third one. */
async function requestsOf(profile: "default" | "documented", compaction: Partial<CompactionSettings>) {
  const clock = createFakeClock();
  const summarizer = createFakeSummarizer(...Array.from({ length: 60 }, (_, at) => `said ${at}`));
  const session = createSession({ clock, summarizer }, { profile, limits: LIMITS, compaction });
  session.append(user("u", "go"));
  const requests: Transcript[] = [];
  for (let at = 0; at < 40; at++) {
    const [one, other] = [step(`s${at}`, `RESULT ${at} ${words(200)}`), step(`t${at}`, words(100))];
    session.append(at % 3 === 2 ? { ...one, parts: [...one.parts, ...other.parts] } : one);
    await clock.runUntilDone(session.prepare());
    requests.push(session.messages());
  }
  return requests;
}

const isSummary = ({ metadata }: Message): boolean => metadata?.kind === "tool_summary";
const lastText = (request: Transcript): string => {
  const { messages } = anthropic.encode(request) as { messages: readonly { content: unknown }[] };
  const last = messages.at(-1)?.content;
  return JSON.stringify(Array.isArray(last) ? last.at(-1) : last);
};

const WAYS = [
  { toolSummaryStrategy: "heuristic", toolSummaryMode: "sync" },
  { toolSummaryStrategy: "llm", toolSummaryMode: "sync" },
  { toolSummaryStrategy: "llm", toolSummaryMode: "background" },
] as const;

describe.each(WAYS)("tool summaries: $toolSummaryStrategy, $toolSummaryMode", (compaction) => {
  it("stand where their results were, and the newest result is the last that the model reads", async () => {
    const requests = await requestsOf("default", compaction);
    expect(requests.at(-1)?.some(isSummary)).toBe(true);
    for (const [at, request] of requests.entries()) {
      if (at % 3 < 2) expect(lastText(request)).toContain(`RESULT ${at} `);
      expect(request.at(-1)?.id).toBe(`s${at}`);
      expect(anthropic.faults(anthropic.encode(request))).toEqual([]);
    }
  });

  it("leave the provider's cache all that stands before the first result that goes", async () => {
    const requests = await requestsOf("default", compaction);
    for (const [at, request] of requests.entries()) {
      const earlier = requests[at - 1] ?? [];
      const same = commonLength(earlier.map(asSent), request.map(asSent));
      const isArchivedNow = asSent(request[same] as Message).includes("[archived: ");
      const isDigest = request.length < earlier.length;
      expect(same === earlier.length || isArchivedNow || isDigest).toBe(true);
    }
  });

  it("stand behind the newest result in the documented profile, as 004 says", async () => {
    const requests = await requestsOf("documented", compaction);
    expect(requests.at(-1)?.at(-1)?.metadata?.kind).toBe("tool_summary");
    expect(lastText(requests.at(-1) ?? [])).toContain("[Tool ");
  });
});

function asSent({ role, parts }: Message): string {
  return JSON.stringify([role, parts]);
}
