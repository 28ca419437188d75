import { expect, it } from "vitest";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { user } from "../../test/rig/session.ts";
import type { Message, Usage } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import type { SessionOptions } from "./options.ts";
import { createSession, type Session } from "./session.ts";

const MODEL = { provider: "anthropic", id: "claude-opus-4-6" };

function open(options: SessionOptions = {}): { session: Session; warnings: string[] } {
  const warnings: string[] = [];
  const onEvent = (event: SessionEvent): void => {
    if (event.type === "warning") warnings.push(event.code);
  };
  const session = createSession({ clock: createFakeClock() }, { model: MODEL, onEvent, ...options });
  return { session, warnings };
}

/** A question of about this size, and an answer whose request was counted at `promptTokens`. */
async function ask(
  session: Session,
  id: string,
  usage: Partial<Usage>,
  chars = 900_000,
  model = MODEL,
): Promise<void> {
  session.append(user(`q-${id}`, "steady ".repeat(chars / 7)));
  session.messages();
  const answer: Message = {
    id: `a-${id}`,
    role: "assistant",
    parts: [{ type: "text", text: "Done." }],
    finish: "stop",
    model,
    usage: {
      inputTokens: 0,
      outputTokens: 5,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      ...usage,
    },
  };
  session.append(answer);
}

it("counts as what is known of the model, and is raised at once when the provider took more", async () => {
  const { session, warnings } = open();
  expect(session.status().contextWindowTokens).toBe(200_000);
  await ask(session, "1", { cacheReadTokens: 230_000 });
  expect(session.status().contextWindowTokens).toBe(1_000_000);
  await ask(session, "2", { cacheReadTokens: 240_000 }, 7);
  expect(warnings).toEqual(["window-raised"]);
  expect(session.nextAction().type).toBe("none");
});

it("has no limit of the input that is less than what was taken", async () => {
  const model = { provider: "openai", id: "gpt-5.5" };
  const { session } = open({ model });
  await ask(session, "1", { cacheReadTokens: 300_000 }, 1_400_000, model);
  const { limitTokens = 0 } = session.status();
  expect(limitTokens).toBeGreaterThan(300_000);
});

it("stays raised in the state of the session", async () => {
  const { session } = open();
  await ask(session, "1", { cacheReadTokens: 230_000 });
  const again = open();
  await again.session.restore(session.transcript(), JSON.parse(JSON.stringify(session.toJSON())));
  expect(again.session.status().contextWindowTokens).toBe(1_000_000);
});

it("is lowered again by a refusal that names less", async () => {
  const { session } = open();
  await ask(session, "1", { cacheReadTokens: 230_000 });
  session.onProviderError(new Error("prompt is too long: 310000 tokens > 300000 maximum"));
  expect(session.status().contextWindowTokens).toBe(300_000);
});

it.each<{ name: string; usage: Partial<Usage>; options?: SessionOptions }>([
  { name: "is no number", usage: { cacheReadTokens: Number.NaN } },
  { name: "is infinite", usage: { cacheReadTokens: Number.POSITIVE_INFINITY } },
  { name: "is absurd beside what was sent", usage: { cacheReadTokens: 9_000_000 } },
  { name: "belongs to an answer without a word", usage: { cacheReadTokens: 230_000, outputTokens: 0 } },
  {
    name: "is above a window that the caller named",
    usage: { cacheReadTokens: 230_000 },
    options: { limits: { contextTokens: 200_000 } },
  },
])("is not raised by usage that $name", async ({ usage, options }) => {
  const { session, warnings } = open(options);
  await ask(session, "1", usage, 70_000);
  expect(session.status().contextWindowTokens).toBe(200_000);
  expect(warnings).not.toContain("window-raised");
});

it("is that of the rows that were given", () => {
  const models = [{ names: ["claude-opus-4-6"], contextTokens: 64_000 }];
  expect(open({ models }).session.status().contextWindowTokens).toBe(64_000);
  expect(() => open({ models: [{ names: [], contextTokens: -1 }] })).toThrow(
    /models\.0\.names[\s\S]*models\.0\.contextTokens/,
  );
});
