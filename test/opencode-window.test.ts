import { describe, expect, it } from "vitest";
import { opencode } from "../src/formats/opencode/opencode.ts";
import { filterCompacted } from "../src/stages/filter-compacted.ts";
import { lowerToChat } from "./opencode-window/lower-to-chat.ts";
import {
  comparable,
  recordedSessions,
  sampleSessions,
  type WireSession,
} from "./opencode-window/wire-session.ts";

const SAMPLES = "../shared/opencode/samples/compaction";
const samples = sampleSessions(SAMPLES);
if (samples.length === 0) console.log(`Skipped the founding samples of OpenCode: ${SAMPLES} is not here.`);

describe("the window of our own recordings is what OpenCode sent", () => {
  it.each(recordedSessions("test/recordings/opencode"))("$name", expectSameWire);
});

describe.skipIf(samples.length === 0)("the window of the founding samples is what OpenCode sent", () => {
  it.each(samples)("$name", expectSameWire);
});

function expectSameWire({ requests }: WireSession): void {
  for (const { stored, model, sent } of requests) {
    const window = filterCompacted(opencode.decode(stored));
    expect(comparable(lowerToChat(window, model))).toEqual(comparable(sent));
  }
}
