import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createThinkingCheck } from "../../../test/rig/bound-thinking/bound-thinking.ts";
import { removeFolder } from "../../../test/rig/remove-folder.ts";
import { asArray, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import { type ContextEngine, createContextEngine } from "./context-engine.ts";

const MODEL = { provider: "anthropic", resolved: "claude-opus-5-5" };

/** OpenClaw with a provider that checks thoughts: it asks for the window once a turn, and sends many requests in it. */
function createGateway() {
  const folder = mkdtempSync(join(tmpdir(), "carryover-openclaw-thoughts-"));
  onTestFinished(() => removeFolder(folder));
  const check = createThinkingCheck();
  const transcript: UnknownObject[] = [];
  const counts = { requests: 0, refused: 0, kept: 0, turns: 0 };
  let engine: ContextEngine = createContextEngine(folder, {});
  const session = { sessionKey: "agent:main:a", runtimeSettings: { model: MODEL } };

  async function turn(steps: number, during: () => Promise<unknown> = async () => undefined): Promise<void> {
    const at = ++counts.turns;
    const assembled = await engine.assemble({ ...session, messages: [...transcript], tokenBudget: 100_000 });
    const before = asArray(asObject(assembled).messages).map(asObject);
    const running: UnknownObject[] = [{ role: "user", content: `Question ${at}`, timestamp: at }];
    for (let step = 0; step < steps; step++) {
      const read = check.read({ model: MODEL.resolved, messages: [...before, ...running].map(toAnthropic) });
      counts.requests++;
      if (read.status !== 200) {
        counts.refused++;
        break;
      }
      // Of the turns before.
      if (step === 0) counts.kept += read.run.length;
      const isLast = step === steps - 1;
      const id = `call_${at}_${step}`;
      const call = { type: "toolCall", id, name: "read", arguments: { path: `${id}.ts` } };
      const text = { type: "text", text: "Looking." };
      const [thought] = check.sign(read, [{ type: "thinking", thinking: "Hm.", signature: "" }]);
      const signed = { type: "thinking", thinking: "Hm.", thinkingSignature: thought?.signature };
      running.push({
        ...{ role: "assistant", content: [signed, text, ...(isLast ? [] : [call])], timestamp: at },
        ...{
          api: "x",
          provider: "p",
          model: "m",
          usage: { input: 1 },
          stopReason: isLast ? "stop" : "toolUse",
        },
      });
      if (step === 0) await during();
      const output = [{ type: "text", text: `a line of ${id}\n`.repeat(1_000) }];
      if (!isLast)
        running.push({
          role: "toolResult",
          toolCallId: id,
          toolName: "read",
          content: output,
          isError: false,
        });
    }
    transcript.push(...running);
    await engine.commitTurn({ ...session, advancementKey: `turn ${at}`, messages: running });
  }

  return {
    counts,
    turn,
    maintain: () => engine.maintain(session),
    compact: () => engine.compact(session),
    restart: () => {
      engine = createContextEngine(folder, {});
    },
  };
}

function toAnthropic({ role, content, toolCallId }: UnknownObject): UnknownObject {
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : asArray(content).map(asObject);
  if (role === "toolResult")
    return { role: "user", content: [{ type: "tool_result", tool_use_id: toolCallId, content: blocks }] };
  return {
    role,
    content: blocks.map((block) => {
      const { type, thinking, thinkingSignature: signature, id, name, arguments: input } = block;
      if (type === "thinking") return { type, thinking, signature };
      return type === "toolCall" ? { type: "tool_use", id, name, input } : block;
    }),
  };
}

it("sends no thought of a turn behind an edit, whatever was edited while the turn ran, also after a restart", async () => {
  const gateway = createGateway();
  for (let round = 0; round < 6; round++) {
    await gateway.turn(8);
    await gateway.maintain();
    await gateway.turn(4, gateway.maintain);
    gateway.restart();
    await gateway.turn(6);
    await gateway.turn(3, gateway.compact);
    await gateway.turn(1);
    expect(gateway.counts).toMatchObject({ refused: 0 });
  }
  expect(gateway.counts.requests).toBe(6 * 22);
  expect(gateway.counts.kept).toBeGreaterThan(40);
});
