import { describe, expect, it } from "vitest";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import { createSystemClock } from "../stores/system-clock.ts";
import { ConfigurationError } from "../text/check.ts";
import type { Message } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import { createSession } from "./session.ts";

const decoded = (message: object) => anthropic.decode([message] as never)[0] as Message;

function start() {
  const events: SessionEvent[] = [];
  const session = createSession({ clock: createSystemClock() }, { onEvent: (event) => events.push(event) });
  const warnings = () => events.flatMap((event) => (event.type === "warning" ? [event.code] : []));
  return { session, warnings };
}

describe("append, of messages that a format has read one by one", () => {
  it("refuses a list, which would be lost", () => {
    const { session } = start();
    const list = anthropic.decode([{ role: "user", content: "first" }]);
    expect(() => session.append(list as never)).toThrow(ConfigurationError);
    expect(() => session.append(list as never)).toThrow(/message is a list of 1; .*observe/);
  });

  it("gives a result to the call that waits for it, and keeps what stands beside it", () => {
    const { session } = start();
    session.append(decoded({ role: "user", content: "look" }));
    const call = { type: "tool_use", id: "c1", name: "bash", input: { command: "ls" } };
    session.append(decoded({ role: "assistant", content: [call] }));
    const result = { type: "tool_result", tool_use_id: "c1", content: "one.txt" };
    session.append(decoded({ role: "user", content: [result, { type: "text", text: "and?" }] }));
    expect(session.messages().map(({ parts }) => parts)).toMatchObject([
      [{ text: "look" }],
      [{ callId: "c1", outcome: { status: "done", output: "one.txt" } }],
      [{ text: "and?" }],
    ]);
  });

  it("keeps a result whose call nobody knows", () => {
    const { session } = start();
    const result = { type: "tool_result", tool_use_id: "gone", content: "one.txt" };
    session.append(decoded({ role: "user", content: [result] }));
    expect(session.transcript()[0]?.parts).toMatchObject([{ callId: "gone", callMissing: true }]);
  });

  it("says that a message which was there already is not taken again, once", () => {
    const { session, warnings } = start();
    for (const content of ["yes", "ok", "yes", "ok"]) session.append(decoded({ role: "user", content }));
    expect(session.transcript()).toHaveLength(2);
    expect(warnings()).toEqual(["message-repeated"]);
  });

  it("says nothing where the newest message is given again, or nothing at all", () => {
    const { session, warnings } = start();
    const message = decoded({ role: "user", content: "yes" });
    for (const given of [message, message, null, undefined, {}]) session.append(given as never);
    expect(warnings()).toEqual([]);
  });
});
