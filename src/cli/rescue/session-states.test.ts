import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { boundSteps } from "../../../test/rig/bound-thinking/bound-files.ts";
import { createFakeClock } from "../../../test/rig/fakes.ts";
import { anthropic } from "../../formats/wires/anthropic/anthropic.ts";
import type { AnthropicMessage } from "../../formats/wires/anthropic/read-message.ts";
import { createSession, type Session } from "../../session/session.ts";
import { asObject } from "../../text/unknown-value.ts";
import { rescueStates } from "./session-states.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-states-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MODEL = "claude-opus-5-5";
const OPTIONS = { limits: { contextTokens: 20_000, outputTokens: 1_000 } };

/** A conversation with its state as an earlier version kept it, which took no model for one that binds thoughts. */
async function bricked() {
  const { check, messages } = boundSteps(40, MODEL);
  const list = messages as unknown as readonly AnthropicMessage[];
  const session = createSession(
    { clock: createFakeClock() },
    { ...OPTIONS, model: { provider: "gateway", id: "some-model" } },
  );
  session.observe(anthropic.decode(list));
  await session.prepare({ moment: "after-turn", idleMs: 3_600_000 });
  const { thoughts: _, ...state } = JSON.parse(JSON.stringify(session.toJSON()));
  const send = (by: Session) =>
    check.read({ model: MODEL, messages: anthropic.apply(list, by.edits(), { at: 1 }) });
  return { list, state, send, asBefore: send(session) };
}

function file(name: string, value: unknown) {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(value));
  return { path, name: path };
}

describe("the state of a session by an earlier version", () => {
  it("says what its thoughts are bound to, in a copy, where the messages stand beside it", async () => {
    const { list, state, send, asBefore } = await bricked();
    expect(asBefore).toMatchObject({ status: 400 });
    const kept = file("kept.json", { id: "chat", state, messages: list });
    const before = readFileSync(kept.path, "utf8");
    const found = await rescueStates(kept, {});
    expect(found).toMatchObject({ status: "rescued", states: 1, findings: [{ problem: "stale-thoughts" }] });
    expect(readFileSync(kept.path, "utf8")).toBe(before);
    const written = asObject(JSON.parse(readFileSync(found?.path ?? "", "utf8")));
    expect(written).toMatchObject({ id: "chat", messages: list });
    const session = createSession(
      { clock: createFakeClock() },
      { ...OPTIONS, model: { provider: "anthropic", id: MODEL } },
    );
    await session.restore(anthropic.decode(list), written.state);
    expect(send(session)).toMatchObject({ status: 200 });
    expect(await rescueStates({ path: found?.path ?? "", name: "" }, {})).toMatchObject({
      status: "healthy",
    });
    // A second time nothing is written over.
    expect((await rescueStates(kept, {}))?.path).not.toBe(found?.path);
  });

  it.each([
    { name: "alone", wrap: (state: unknown) => state },
    {
      name: "in a channel of LangChain",
      wrap: (session: unknown) => ({ carryover: { id: "t", version: 3, session } }),
    },
    {
      name: "in a record of OpenClaw",
      wrap: (state: unknown) => ({ v: 1, id: "agent", value: { state, turns: [] }, c: 1 }),
    },
    {
      name: "beside messages that were edited already",
      wrap: (state: unknown) => ({ state, messages: [{ role: "user", content: "Other." }] }),
    },
  ])("is found $name, and left to who restores it", async ({ name, wrap }) => {
    const { list, state, send } = await bricked();
    const found = await rescueStates(file(`${name}.json`, wrap(state)), {});
    expect(found).toMatchObject({ status: "broken", findings: [{ problem: "stale-thoughts" }] });
    expect(found).not.toHaveProperty("path");
    const session = createSession(
      { clock: createFakeClock() },
      { ...OPTIONS, model: { provider: "anthropic", id: MODEL } },
    );
    await session.restore(anthropic.decode(list), state);
    expect(send(session)).toMatchObject({ status: 200 });
  });

  it("is nothing else's business", async () => {
    expect(await rescueStates(file("plain.json", [{ role: "user", content: "Hi" }]), {})).toBeUndefined();
    expect(await rescueStates({ path: folder, name: folder }, {})).toBeUndefined();
    const { list, state } = await bricked();
    const dry = await rescueStates(file("dry.json", { state, messages: list }), { dryRun: true });
    expect(dry).toMatchObject({ status: "broken" });
    expect(dry).not.toHaveProperty("path");
  });
});
