import fc from "fast-check";
import { opencode } from "../../../src/formats/wires/opencode/opencode.ts";
import { runStages } from "../../../src/transcript/edit.ts";
import { type Message, project, type Transcript } from "../../../src/transcript/message.ts";
import type { FilePart, Part, ToolOutcome } from "../../../src/transcript/part.ts";
import { deepFreeze } from "../notation.ts";
import { RANDOM_STAGES } from "./check-history.ts";
import { anyOpenCodeMessages } from "./lower-to-opencode.ts";
import { PROVIDER_CASES } from "./provider-cases.ts";
import { HOSTILE_TEXTS, PLAIN_TEXTS, randomHistory } from "./random-history.ts";

/**
 * Transcripts that somebody wants to send: half of them what stages and compactions left of requests and of OpenCode
 * sessions, the others put together by hand, with everything that the types allow. Frozen.
 */
export function randomMessagesToSend(): fc.Arbitrary<Transcript> {
  return fc
    .oneof(
      { weight: 2, arbitrary: handmade },
      { weight: 1, arbitrary: edited(decodedRequest()) },
      { weight: 1, arbitrary: edited(anyOpenCodeMessages.map((wire) => opencode.decode(wire))) },
    )
    .map(deepFreeze);
}

/** What is left of a request of one provider; of any where the name is none of them. */
export function editedRequest(api?: string): fc.Arbitrary<Transcript> {
  return edited(decodedRequest(api)).map(deepFreeze);
}

function decodedRequest(api?: string): fc.Arbitrary<Transcript> {
  const named = PROVIDER_CASES.filter((each) => each.api === api);
  const cases = named.length === 0 ? PROVIDER_CASES : named;
  return fc
    .record({ history: randomHistory(), provider: fc.constantFrom(...cases) })
    .map(({ history, provider }) => provider.format.decode(provider.lower(history)));
}

/** Up to four stages run; half of the time what they hid is still in it, marked. */
export function edited(transcript: fc.Arbitrary<Transcript>): fc.Arbitrary<Transcript> {
  return fc
    .record({
      transcript,
      stages: fc.array(fc.nat(RANDOM_STAGES.length - 1), { maxLength: 4 }),
      seed: fc.nat(999_999),
    })
    .map(({ transcript: given, stages, seed }) => {
      const chosen = stages.flatMap((number) => RANDOM_STAGES[number]?.stage(seed) ?? []);
      const { transcript: after } = runStages(given, chosen, { at: 1_700_000_000_000 });
      return seed % 2 === 0 ? project(after) : after;
    });
}

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PLAIN_TEXTS) },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
);

const file: fc.Arbitrary<FilePart> = fc.record(
  {
    type: fc.constant("file" as const),
    mime: fc.constantFrom("image/png", "application/pdf", "text/plain"),
    filename: fc.constantFrom("a.png", "two words.pdf", "half \ud83d\n.txt"),
    sizeBytes: fc.nat(9_999),
  },
  { requiredKeys: ["type", "mime"] },
);

const outcome: fc.Arbitrary<ToolOutcome> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ status: "pending" as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      status: fc.constant("done" as const),
      output: text,
      attachments: fc.oneof(
        { weight: 5, arbitrary: fc.constant<readonly FilePart[]>([]) },
        { weight: 1, arbitrary: fc.array(file, { maxLength: 2 }) },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ status: fc.constant("failed" as const), error: text }) },
);

/** Seldom, as an edit or a host leaves it. */
const seldom = <T>(value: T): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant(value) });

const part: fc.Arbitrary<Part> = fc
  .oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant("text" as const),
        text,
        synthetic: seldom(true as const),
        ignored: seldom(true as const),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant("tool" as const),
        callId: fc.constantFrom("call_0", "call_1", "functions.bash:0", "", "c".repeat(90), "call_0_2"),
        tool: fc.constantFrom("bash", "read", "mcp.files/read", "", "t".repeat(80), "größe"),
        input: fc.oneof(
          { weight: 4, arbitrary: fc.record({ command: text }) },
          { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, null, {}, "text", 3, [1, "x"]) },
        ),
        outcome,
        clearedAt: seldom(1),
        callMissing: seldom(true as const),
      }),
    },
    { weight: 1, arbitrary: file },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("reasoning" as const), text }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("compaction" as const),
        trigger: fc.constant("auto" as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("opaque" as const),
        name: fc.constantFrom("step-start", "patch"),
      }),
    },
  )
  .chain((made) =>
    seldom(false as const).map((agentVisible) => withoutUnset({ ...made, agentVisible }) as Part),
  );

const handmade: fc.Arbitrary<Transcript> = fc
  .array(
    fc.record({
      role: fc.constantFrom(
        "user",
        "assistant",
        "assistant",
        "assistant",
        "system",
        "developer",
        "tool",
        "custom",
      ),
      parts: fc.array(part, { maxLength: 5 }),
      summary: seldom(true as const),
      hidden: seldom(true),
    }),
    { maxLength: 12 },
  )
  .map((messages) =>
    messages.map(
      ({ hidden, ...message }, index): Message =>
        withoutUnset({
          id: `m${index}`,
          ...message,
          metadata: hidden ? { agentVisible: false } : undefined,
        }) as Message,
    ),
  );

function withoutUnset<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
