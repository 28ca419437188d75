import { describe, expect, it } from "vitest";
import { type AnswerFacts, answerFacts } from "./answer.ts";
import { holdStream } from "./hold-stream.ts";

const START = { type: "stream-start", warnings: [] };
const FINISH = {
  type: "finish",
  finishReason: { unified: "stop", raw: "end_turn" },
  usage: { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 3 } },
};
const delta = (text: string) => ({ type: "text-delta", id: "1", delta: text });

async function hold(parts: readonly unknown[]) {
  const finished: AnswerFacts[] = [];
  const late: unknown[] = [];
  let pulled = 0;
  let cancelled: unknown;
  const stream = new ReadableStream<unknown>(
    {
      pull(controller) {
        if (pulled === parts.length) controller.close();
        else controller.enqueue(parts[pulled++]);
      },
      cancel(reason) {
        cancelled = reason ?? "cancelled";
      },
    },
    { highWaterMark: 0 },
  );
  const held = await holdStream(stream, {
    onFinish: (part) => finished.push(answerFacts(part)),
    onLateError: (error) => late.push(error),
  });
  return { held, finished, late, pulled: () => pulled, cancelled: () => cancelled };
}

async function all(stream: ReadableStream<unknown>): Promise<readonly unknown[]> {
  const parts: unknown[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe("a stream that is held", () => {
  it("is dropped with the first word, whole and in order", async () => {
    const parts = [START, { type: "text-start", id: "1" }, delta(""), delta("Hi"), delta(" there"), FINISH];
    const { held, finished, pulled } = await hold(parts);
    expect(held.end).toEqual({ type: "answer" });
    expect(pulled()).toBe(4);
    expect(await all(held.release())).toEqual(parts);
    expect(finished).toEqual([
      {
        finish: "end_turn",
        usage: {
          inputTokens: 5,
          outputTokens: 3,
          reasoningTokens: 0,
          cacheReadTokens: 4,
          cacheWriteTokens: 0,
        },
      },
    ]);
  });

  it("says that it failed before anything was seen, and still has everything", async () => {
    const parts = [START, { type: "error", error: "too long" }, FINISH];
    const { held, late } = await hold(parts);
    expect(held.end).toEqual({ type: "error", error: "too long" });
    expect(await all(held.release())).toEqual(parts);
    expect(late).toEqual([]);
  });

  it("says that nothing came, with what the end tells", async () => {
    const { held } = await hold([START, { type: "custom", kind: "anthropic.message_start" }, FINISH]);
    expect(held.end).toMatchObject({ type: "nothing", facts: { finish: "end_turn" } });
  });

  it("tells of an error behind the first word, which it cannot take back", async () => {
    const { held, late } = await hold([delta("Hi"), { type: "error", error: "cut off" }]);
    await all(held.release());
    expect(late).toEqual(["cut off"]);
  });

  it("passes on a call, a source or a file at once", async () => {
    for (const type of ["tool-input-start", "tool-call", "source", "file", "reasoning-delta"])
      expect((await hold([START, { type, delta: "x" }])).held.end.type).toBe("answer");
  });

  it("is left without being read to its end", async () => {
    const left = await hold([delta("Hi"), delta(" there")]);
    await left.held.cancel();
    expect(left.cancelled()).toBe("cancelled");
    const read = await hold([delta("Hi"), delta(" there")]);
    await read.held.release().cancel("enough");
    expect(read.cancelled()).toBe("enough");
  });
});
