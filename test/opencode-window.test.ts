import { describe, expect, it } from "vitest";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { filterCompacted } from "../src/stages/boundary.ts";
import { lowerToChat } from "./opencode-window/lower-to-chat.ts";
import {
  comparable,
  hasFailedTail,
  recordedSessions,
  sampleSessions,
  type WireRequest,
  type WireSession,
} from "./opencode-window/wire-session.ts";
import type { ChatMessage } from "./rig/opencode/recording.ts";

const RECORDINGS = "test/recordings/opencode";
const SAMPLES = "../shared/opencode/samples/compaction";

const recordings = recordedSessions(RECORDINGS);
const samples = sampleSessions(SAMPLES);
if (samples.length === 0) console.log(`Skipped the founding samples of OpenCode: ${SAMPLES} is not here.`);

describe("the window of our own recordings is what OpenCode sent", () => {
  it.each(recordings)("$name", expectSameWire);
});

describe.skipIf(samples.length === 0)("the window of the founding samples is what OpenCode sent", () => {
  it.each(samples)("$name", expectSameWire);
});

/**
 * OpenCode notes a retained tail on the marker even when the summary failed. It then sends that tail as if the
 * summary stood before it, so whatever the summary was to replace, an older good summary included, reaches the
 * model in no form. This follows from the stored messages, but a window that forgets is not one to copy.
 */
describe("behind a failed summary with a tail our window keeps what OpenCode forgets", () => {
  const forgetful = recordings.flatMap(({ name, requests }) =>
    requests.filter(hasFailedTail).map((request) => ({ name, request })),
  );

  it.each(forgetful)("$name", ({ request }) => {
    const ours = windowOf(request);
    const sent = comparable(request.sent);
    expect(ours.length).toBeGreaterThan(sent.length);
    // Apart from that, the difference is where the failed marker stands: ours stays behind the tail.
    expect(markerFirst(ours.slice(-sent.length))).toEqual(sent);
  });

  it("was recorded with and without an older good summary", () => {
    expect(new Set(forgetful.map(({ name }) => name))).toEqual(
      new Set(["failed-summary-after-good-one", "failed-summary-then-good-one", "failed-summary-with-tail"]),
    );
  });
});

function expectSameWire({ requests }: WireSession): void {
  for (const request of requests.filter((each) => !hasFailedTail(each))) {
    expect(windowOf(request)).toEqual(comparable(request.sent));
  }
}

function windowOf({ stored, model }: WireRequest): readonly ChatMessage[] {
  return comparable(lowerToChat(filterCompacted(opencode.decode(stored)), model));
}

function markerFirst(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const isMarker = ({ content }: ChatMessage): boolean => content === "What did we do so far?";
  return [...messages.filter(isMarker), ...messages.filter((message) => !isMarker(message))];
}
