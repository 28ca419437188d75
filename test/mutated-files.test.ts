import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { explainCost } from "../src/cost/explain-cost.ts";
import { readRequests } from "../src/cost/read-requests.ts";
import { forkContext } from "../src/fork/fork.ts";
import { readBranch } from "../src/formats/files/pi/branch.ts";
import { formatOf, readTranscript } from "../src/formats/read-transcript.ts";
import { handOff } from "../src/handoff/handoff.ts";
import { createRequestRecognizer } from "../src/hosts/ai-sdk/recognize-request.ts";
import { claudeCode } from "../src/hosts/claude-code/claude-code.ts";
import { codex } from "../src/hosts/codex/codex.ts";
import * as langchain from "../src/hosts/langchain/messages.ts";
import * as openclaw from "../src/hosts/openclaw/messages.ts";
import { isSilent } from "../src/middleware/answer.ts";
import { createSession } from "../src/session/session.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { cliSamples, type Sample } from "./rig/cli-samples.ts";
import { createFakeClock } from "./rig/fakes.ts";
import { TARGETS } from "./rig/handoffs.ts";
import { mutationsOf } from "./rig/mutate-file.ts";

const FILES = Number(process.env.FUZZ_RUNS ?? (process.env.CARRYOVER_LONG === undefined ? 550 : 100_000));
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);

/** Reads a file and does with it what the programs do; the error when one of them throws. */
async function tryFile(text: string, seed = 0): Promise<string | undefined> {
  try {
    const bytes = new TextEncoder().encode(text);
    const { format, wire, transcript } = await readTranscript(bytes);
    await readTranscript(bytes, { keep: "live" });
    if (format === "unknown") return undefined;
    formatOf(format).faults(wire);
    formatOf(format).apply(wire, repairPairing(transcript), { at: 1 });
    forkContext(transcript);
    explainCost(readRequests({ format, wire, transcript }));
    // These take most of the time.
    if (seed % 4 > 0) return undefined;
    const session = createSession({ clock: createFakeClock() });
    session.observe(transcript);
    session.messages();
    handOff(transcript, {
      target: TARGETS[(seed / 4) % TARGETS.length] ?? "pi",
      head: { id: "handed-over", cwd: "/", at: 1, title: "A talk", newId: randomUUID },
      secrets: "taken-out",
      source: { format, path: "/session" },
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : "threw";
  }
}

/** Sessions as the programs wrote them: records and parts that no sample of ours has. */
function recordings(): readonly Pick<Sample, "fileName" | "text">[] {
  const folder = join(import.meta.dirname, "recordings");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.jsonl?$/.test(name))
    .sort()
    .map((fileName) => ({ fileName, text: readFileSync(join(folder, fileName), "utf8") }));
}

describe("a file with odd values in any place is read", () => {
  const samples = cliSamples();
  const recorded = recordings();
  const count = Math.ceil(FILES / (samples.length + recorded.length));

  it.each([...samples, ...recorded])("$fileName", { timeout: 3_600_000 }, async (sample) => {
    const mutate = mutationsOf(sample);
    for (let seed = FIRST_SEED; seed < FIRST_SEED + count; seed++) {
      const problem = await tryFile(mutate(seed), seed);
      if (problem !== undefined) expect.fail(`seed ${seed}: ${problem}`);
    }
  });

  it.each(samples)("$format, whatever kind its lines and messages say that they are", async ({ text }) => {
    const odd = text.replace(/"type":"[^"]*"/g, '"type":{"toString":null}');
    expect(await tryFile(odd)).toBeUndefined();
    expect(await tryFile(text.replace(/"type":"[^"]*"/, '"type":{"toString":null}'))).toBeUndefined();
  });

  it("and one line that cannot be told apart does not take the others with it", async () => {
    const line = (payload: unknown) => JSON.stringify({ type: "response_item", payload });
    const text = [
      JSON.stringify({ type: "session_meta", payload: { id: "x", cwd: "/" } }),
      line({ type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] }),
      line({ type: { toString: null } }),
      line({ type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] }),
    ].join("\n");
    const { transcript } = await readTranscript(new TextEncoder().encode(text));
    expect(JSON.stringify(transcript)).toContain("hello");
    expect(JSON.stringify(transcript)).toContain("hi");
  });
});

describe("what a host hands over has odd values in any place", () => {
  const odd: unknown = { toString: null };
  const call = { type: "tool-call", toolCallId: odd, toolName: odd, input: odd };
  const result = {
    type: "tool-result",
    toolCallId: odd,
    toolName: odd,
    output: { type: "text", value: odd },
  };
  const text = { type: "text", text: odd };
  const file = { type: "file", mediaType: odd, filename: odd };
  const prompt = [
    { role: "user", content: [text, file] },
    { role: "assistant", content: [call] },
    { role: "tool", content: [result] },
  ];

  it.each<readonly [name: string, read: () => unknown]>([
    [
      "a request of the AI SDK",
      () => createRequestRecognizer(() => []).isOwn({ prompt, tools: [{ name: odd }] }),
    ],
    ["a part of its answer", () => [isSilent({ type: odd }), isSilent({ type: "custom", kind: odd })]],
    ["messages for LangChain", () => langchain.fromWire(prompt)],
    [
      "a message of LangChain",
      () => langchain.toWire([new HumanMessage({ content: [{ type: odd }] as never })]),
    ],
    [
      "messages of OpenClaw",
      () => {
        const block = { type: "toolCall", id: odd, name: odd };
        const answered = { role: "toolResult", toolCallId: odd, content: [] };
        return openclaw.toWire([{ role: "assistant", content: [block] }, answered]);
      },
    ],
    ["messages for OpenClaw", () => openclaw.fromWire(prompt, 0)],
    [
      "a line of Claude Code's child",
      () => [
        claudeCode.child?.readEvent({
          type: "assistant",
          message: { content: [{ type: "tool_use", id: odd, name: odd }] },
        }),
        claudeCode.child?.readEvent({ type: "result", is_error: true, errors: [odd], subtype: odd }),
      ],
    ],
    [
      "a line of a hook in Claude Code's file",
      () => {
        const attachment = { type: "hook_additional_context", content: [odd] };
        return claudeCode.readLine?.({ type: "attachment", attachment });
      },
    ],
    [
      "a line of Codex's child",
      () => codex.child?.readEvent({ type: "item.started", item: { id: odd, type: odd } }),
    ],
    [
      "an entry of pi",
      () => readBranch([{ type: "custom", id: "a", customType: "carryover", data: { edited: [odd] } }]),
    ],
  ])("%s", (_name, read) => {
    expect(read()).toBeDefined();
  });
});
