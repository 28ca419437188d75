import fc from "fast-check";
import { expect, it } from "vitest";
import { playThinking, randomThinkingScript } from "../../test/rig/bound-thinking/thinking-conversation.ts";
import { runs } from "../../test/rig/runs.ts";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import type { UnknownObject } from "../text/unknown-value.ts";
import type { Session } from "./session.ts";

const encode = (session: Session, request: UnknownObject): UnknownObject => {
  session.sent();
  return anthropic.encode(session.messages(), request);
};

it("no thought is refused, and none is lost but those behind an edit", { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      randomThinkingScript,
      fc.constantFrom("new" as const, "old" as const),
      fc.constantFrom(undefined, "error" as const, "drop_block" as const),
      async (script, account, behavior) => {
        const report = await playThinking(script, { account, encode, ...(behavior && { behavior }) });
        expect(report).toMatchObject({ refusals: [], lostNeedlessly: [] });
      },
    ),
    { numRuns: runs(300, 60) },
  );
});
