import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyOpenCodeMessages } from "../../../test/rig/random-history/lower-to-opencode.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { createDecoder } from "../../plugin/window/prune.ts";
import { messageFormat } from "./messages.ts";

function said(id: string, text: string): SessionMessage {
  return { info: { id, role: "user" }, parts: [{ type: "text", text }] };
}

describe("a list that is read again and again", () => {
  it("always becomes what it becomes by itself", () => {
    fc.assert(
      fc.property(fc.array(anyOpenCodeMessages, { minLength: 1, maxLength: 2 }), (histories) => {
        const decode = createDecoder(messageFormat);
        for (const history of [...histories, ...histories]) {
          expect(decode(structuredClone(history))).toEqual(opencode.decode(history));
        }
      }),
    );
  });

  it("becomes the very same messages where it says the same, and new ones elsewhere", () => {
    const decode = createDecoder(messageFormat);
    const first = decode([said("a", "One."), said("b", "Two."), said("c", "Three.")]);
    const second = decode([said("b", "Two."), said("c", "Four."), said("d", "Five.")]);
    expect(second[0]).toBe(first[1]);
    expect(second[1]).not.toBe(first[2]);
    expect(second).toEqual(opencode.decode([said("b", "Two."), said("c", "Four."), said("d", "Five.")]));
  });

  it("does not change with what another plugin does to the list afterwards", () => {
    const decode = createDecoder(messageFormat);
    const list = [said("a", "One.")];
    const [first] = decode(list);
    Object.assign(list[0]?.parts[0] ?? {}, { text: "Changed." });
    expect(decode([said("a", "One.")])[0]).toBe(first);
    expect(decode([said("a", "Changed.")])).toEqual(opencode.decode([said("a", "Changed.")]));
  });

  it.each([
    [[null]],
    [[5]],
    [[{}]],
    [[{ info: { id: "a", role: "user" } }]],
    [[said("a", ""), said("a", "")]],
  ])("reads %j as it is", (list) => {
    const wire = list as unknown as readonly SessionMessage[];
    const decode = createDecoder(messageFormat);
    expect(decode(wire)).toEqual(opencode.decode(wire));
    expect(decode(wire)).toEqual(opencode.decode(wire));
  });
});
