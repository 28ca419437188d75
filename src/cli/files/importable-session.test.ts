import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../testing/notation.ts";
import { importableSession } from "./write-file.ts";

const user = { role: "user", agent: "build", model: { providerID: "p", modelID: "m" } };
const assistant = {
  role: "assistant",
  parentID: "u",
  modelID: "m",
  providerID: "p",
  mode: "build",
  agent: "build",
  path: { cwd: "/", root: "/" },
  cost: 3,
  tokens: { input: 9 },
};
const parts = [{ type: "text", text: "hello", id: "m1-part-1" }];

describe("importableSession", () => {
  it("changes nothing where nothing is missing", () => {
    const wire = deepFreeze([
      { info: user, parts },
      { info: assistant, parts },
    ]);
    expect(importableSession(wire)).toBe(wire);
  });

  it("lends an inserted message what its neighbours of the same role have, but not what they cost", () => {
    const wire = deepFreeze({
      info: { id: "ses" },
      messages: [
        { info: { role: "user", id: "a" }, parts },
        { info: { role: "assistant", id: "b", summary: true, parentID: "a" }, parts },
        { info: user, parts },
        { info: assistant, parts },
      ],
    });
    const { messages } = importableSession(wire) as typeof wire;
    expect(messages[0]).toEqual({
      info: { ...user, id: "a" },
      parts: [{ ...parts[0], id: "prt_m1-part-1" }],
    });
    expect(messages[1]?.info).toMatchObject({ parentID: "a", modelID: "m", cost: 0, tokens: { input: 0 } });
    expect(messages.slice(2)).toEqual(wire.messages.slice(2));
  });

  it("invents nothing where no message can lend it", () => {
    const wire = deepFreeze([{ info: { role: "user" }, parts }, null] as never);
    expect(importableSession(wire)).toBe(wire);
  });
});
