import { expect, it } from "vitest";
import { renderMessage } from "../transcript/content.ts";
import type { Transcript } from "../transcript/message.ts";
import { fitted } from "./fit.ts";

const text = (id: string, role: string, said: string, more: object = {}) => ({
  id,
  role,
  parts: [{ type: "text", text: said, ...more }],
});
const said = (index: number) => `Instruction ${index}: do it by the guidelines.`;
const long = (index: number) =>
  `Begin ${index} ${Array.from({ length: 80 }, (_, line) => `value_${index}_${line} = step${line}(${index})`).join("\n")} end ${index}`;
const call = (index: number) => ({
  type: "tool",
  callId: `c${index}`,
  tool: "bash",
  input: { command: `run ${index}` },
  outcome: { status: "done", output: long(index), attachments: [] },
});
const session = Array.from({ length: 12 }, (_, index) => [
  text(`u${index}`, "user", said(index)),
  text(`p${index}`, "user", long(index), { synthetic: true }),
  { id: `a${index}`, role: "assistant", parts: [call(index)] },
  text(`l${index}`, "user", long(100 + index)),
]).flat() as unknown as Transcript;

it.each([20_000, 40_000])(
  "what the user typed outlives calls and results in %d characters",
  (budgetChars) => {
    const { messages, cut } = fitted(session, budgetChars);
    const back = messages.map(renderMessage).join("\n");
    for (let index = 0; index < 12; index++) {
      expect(back).toContain(said(index));
      expect(back).toContain(`Begin ${100 + index} `);
      expect(back).toContain(`end ${100 + index}`);
    }
    expect(back.length).toBeLessThanOrEqual(budgetChars);
    expect(cut).toBeGreaterThan(0);
  },
);
