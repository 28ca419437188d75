import type { SessionEvent } from "../../src/session/events.ts";
import type { SessionPorts } from "../../src/session/options.ts";
import type { Session } from "../../src/session/session.ts";
import type { Message, Transcript } from "../../src/transcript/message.ts";
import type { ToolPart } from "../../src/transcript/part.ts";
import { createSession, type EngineOptions } from "./engine-session.ts";
import { createFakeClock, createFakeSummarizer, type FakeClock, startsAndEnds } from "./fakes.ts";

/** What the summarizer of a test session answers. */
export const SUMMARY = "## Goal\nShip the parser.\n## Progress\nTwo files were read.";

/** A session with a window of 40,000 tokens, with a fake clock and summarizer and its events. */
export function startSession(
  options: EngineOptions = {},
  ports: Partial<SessionPorts> = {},
): { readonly session: Session; readonly events: SessionEvent[]; readonly clock: FakeClock } {
  const events: SessionEvent[] = [];
  const clock = createFakeClock();
  const session = createSession(
    { clock, summarizer: createFakeSummarizer(SUMMARY), ...ports },
    {
      limits: { contextTokens: 40_000, outputTokens: 4_000 },
      onEvent: startsAndEnds(events),
      ...options,
    },
  );
  return { session, events, clock };
}

export const words = (count: number, word = "steady"): string => `${word} `.repeat(count);

export const user = (id: string, text: string): Message => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});

export const answer = (id: string, text: string, rest: Partial<Message> = {}): Message => ({
  id,
  role: "assistant",
  parts: [{ type: "text", text }],
  finish: "stop",
  ...rest,
});

/** A finished step with one call of bash. */
export const step = (id: string, output: string, rest: Partial<ToolPart> = {}): Message => ({
  id,
  role: "assistant",
  finish: "tool-calls",
  parts: [
    {
      type: "tool",
      callId: `${id}-call`,
      tool: "bash",
      input: { command: `run ${id}` },
      outcome: { status: "done", output, attachments: [] },
      ...rest,
    },
  ],
});

/** Some requests with a long answer each. */
export function conversation(turns: number, wordsEach = 1_000, name = ""): Transcript {
  return Array.from({ length: turns }, (_, turn) => [
    user(`u${name}${turn}`, `request ${turn}`),
    answer(`a${name}${turn}`, words(wordsEach)),
  ]).flat();
}
