import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findOpenAIResponsesFaults } from "../../src/formats/wires/openai-responses/find-faults.ts";
import type { Fault } from "../../src/transcript/format.ts";
import { countRequest } from "../ai-sdk/harness/count-request.ts";
import { type JudgedRequest, type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { type AgentEvent, type RunningAgent, startAgent } from "./run-agent.ts";

const TURNS = 120;
const PLANTED_TURNS = 100;
const KILLED_TURN = 60;
const WINDOW_TOKENS = 16_385;
const OUTPUT_BYTES = [2_000, 40_000, 300_000, 1_000_000, 8_000, 100_000, 500];

/** How OpenAI refuses what is too long, by the turn in which it does: with and without figures, at once and in the stream. */
const REFUSALS: Readonly<Record<number, Reply>> = {
  25: refusal(
    `This model's maximum context length is ${WINDOW_TOKENS} tokens. However, your messages resulted in 16733 tokens. ` +
      "Please reduce the length of the messages.",
  ),
  50: refusal("Your input exceeds the context window of this model. Please adjust your input and try again."),
  75: {
    type: "stream-error",
    error: {
      type: "invalid_request_error",
      code: "context_length_exceeded",
      message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
    },
  },
};

function refusal(message: string): Reply {
  const error = { message, type: "invalid_request_error", param: "input", code: "context_length_exceeded" };
  return { type: "refusal", status: 400, body: { error } };
}

/** What is planted in a turn: in the user's words, in the middle of an output, or in the answer. */
const fact = (number: number): string => `harbour-${number}-${(number * 7919).toString(36)}-kestrel`;
const placeOf = (number: number) => (["user", "output", "answer"] as const)[number % 3];
const planted = (number: number, place: string): string =>
  placeOf(number) === place ? ` Its name is ${fact(number)}.` : "";
const prompt = (number: number): string => `Turn ${number}: look at log ${number}.${planted(number, "user")}`;

let folder: string;
let server: ModelServer;
let turn = 0;
let tooLong = 0;
let largestTokens = 0;
let summaries = 0;
const refused: number[] = [];
const faults: Fault[] = [];

/** A model with a window: in each turn it runs one command, and then says that it is done. Its summaries say nothing. */
function judge({ body, rawBody }: JudgedRequest): Reply {
  const inputTokens = countRequest(body);
  if (inputTokens > WINDOW_TOKENS) {
    tooLong++;
    return refusal(`This model's maximum context length is ${WINDOW_TOKENS} tokens, not ${inputTokens}.`);
  }
  largestTokens = Math.max(largestTokens, inputTokens);
  const answer = { type: "answer", usage: { inputTokens, outputTokens: 40 } } as const;
  if (body.tools === undefined)
    return {
      ...answer,
      // No model writes the same twice, also not in one turn.
      text: `## Goal\nLook at every log.\n## Progress\nUp to log ${turn}, told ${++summaries} times.\n## Next steps\nGo on.`,
    };
  faults.push(...findOpenAIResponsesFaults(body));
  const reply = REFUSALS[turn];
  if (reply !== undefined && !refused.includes(turn)) {
    refused.push(turn);
    return reply;
  }
  if (rawBody.includes(`call-${turn}"`))
    return { ...answer, text: `Turn ${turn} is done.${planted(turn, "answer")}` };
  const bytes = OUTPUT_BYTES[turn % OUTPUT_BYTES.length];
  const command = `"${process.execPath}" print.mjs ${turn} ${bytes} "${planted(turn, "output")}"`;
  return { ...answer, calls: [{ tool: "bash", input: { command }, id: `call-${turn}` }] };
}

const PRINT = `const [turn, bytes, fact] = process.argv.slice(2);
const lines = [];
for (let size = 0; size < bytes; size += lines.at(-1).length + 1)
  lines.push(\`log \${turn}, line \${lines.length}: request handled in \${(lines.length * 37) % 991} ms\`);
lines.splice(lines.length >> 1, 0, fact);
process.stdout.write(lines.join("\\n"));
`;

function start(...args: readonly string[]): Promise<RunningAgent> {
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "scripted" };
  return startAgent(["--yes", "-m", "openai/gpt-3.5-turbo", ...args], { folder, env });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "carryover-agent-"));
  writeFileSync(join(folder, "print.mjs"), PRINT);
  server = await startModelServer({ judge });
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

// The real program and the real package of the provider, against a model behind HTTP that counts tokens exactly.
describe("a session of 120 turns in a window of 16k, outputs of up to 1 MB, three refusals and a kill -9", () => {
  const errors: AgentEvent[] = [];
  const lost: string[] = [];
  let inWindow = 0;

  beforeAll(async () => {
    let agent = await start();
    for (turn = 1; turn <= TURNS; turn++) {
      if (turn === KILLED_TURN) {
        const called = agent.hear("call");
        agent.type(prompt(turn)).catch(() => undefined);
        await called;
        agent.process.kill("SIGKILL");
        await agent.leave();
        agent = await start("--continue");
        continue;
      }
      const events = await agent.type(prompt(turn));
      errors.push(...events.filter(({ type }) => type === "error" || type === "compaction.failed"));
      if (!events.some(({ text }) => text?.startsWith(`Turn ${turn} is done`)))
        errors.push({ type: `turn ${turn} has no answer` });
    }
    const window = JSON.stringify(server.requests.findLast(({ body }) => body.tools !== undefined)?.body);
    for (let number = 1; number <= PLANTED_TURNS; number++) {
      if (window.includes(fact(number))) inWindow++;
      else {
        const events = await agent.type(`/recall ${fact(number)}`);
        const found = String(events.find(({ type }) => type === "answer")?.answer?.text);
        if (!found.includes(`Its name is ${fact(number)}`)) lost.push(fact(number));
      }
    }
    await agent.leave();
    console.log(
      `${TURNS} turns, ${server.requests.length} requests, the largest ${largestTokens} tokens: ${inWindow} of ` +
        `${PLANTED_TURNS} facts in the window, ${PLANTED_TURNS - inWindow - lost.length} recalled, ${lost.length} lost`,
    );
  }, 600_000);

  it("answers in every turn, and no compaction fails", () => expect(errors).toEqual([]));

  it("has every fact of the first 100 turns in its window or finds it with recall", () =>
    expect(lost).toEqual([]));

  it("sends nothing that is too long of itself, and goes on after what is refused all the same", () => {
    expect(refused).toEqual([25, 50, 75]);
    expect(tooLong).toBe(0);
  });

  it("sends nothing that a provider would refuse for its form", () => expect(faults).toEqual([]));
});
