import { readTranscript } from "../../src/formats/read-transcript.ts";
import { type HandedOff, type HandoffOptions, handOff } from "../../src/handoff/handoff.ts";
import { type HandoffTarget, RECEIVERS } from "../../src/handoff/receivers.ts";
import type { Transcript } from "../../src/transcript/message.ts";

/** The agents that a session can be handed to. */
export const TARGETS: readonly HandoffTarget[] = Object.keys(RECEIVERS) as HandoffTarget[];

/** A key that must not be handed over. */
export const KEY: string = ["sk", "ant", "api03", "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LzXcVbNmQwErTy"].join("-");

/** A conversation with one answer of these parts. */
export const talk = (...parts: readonly object[]): Transcript =>
  [
    { id: "u1", role: "user", parts: [{ type: "text", text: "Please look." }] },
    { id: "a1", role: "assistant", parts },
    { id: "a2", role: "assistant", parts: [{ type: "text", text: "That is all." }] },
  ] as unknown as Transcript;

/** A call that was done. */
export const ran = (tool: string, input: unknown, output = "out", callId = "c1"): object => ({
  type: "tool",
  callId,
  tool,
  input,
  outcome: { status: "done", output, attachments: [] },
});

/** Hands a conversation over, with ids that are always the same. */
export function hand(
  transcript: Transcript,
  target: HandoffTarget,
  more: Partial<HandoffOptions> = {},
): HandedOff {
  let count = 0;
  const newId = (): string => `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
  return handOff(transcript, {
    target,
    head: { id: newId(), cwd: "/home/you/shop", at: 1_700_000_000_000, title: "A talk", newId },
    secrets: "kept",
    source: { format: "codex", path: "/sessions/original.jsonl", sessionId: "abc" },
    ...more,
  });
}

/** What the receiver reads. */
export async function readBack({ content }: HandedOff): Promise<Transcript> {
  return (await readTranscript(Buffer.from(content))).transcript;
}
