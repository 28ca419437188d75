import { expect, it } from "vitest";
import type { LiveEvent } from "../../view/protocol.ts";
import { eventsOf } from "./load-session.ts";

it("reads events however the bytes are cut", async () => {
  const event: LiveEvent = { type: "messages", revision: 3, count: 1, changes: [] };
  const other: LiveEvent = {
    type: "journal",
    entries: [{ atMs: 1, sessionId: "é", type: "note", text: "ü" }],
  };
  const text = `: hello\n\ndata: ${JSON.stringify(event)}\n\nevent: x\nid: 4\ndata:${JSON.stringify(other)}\n\n`;
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < bytes.length; size += 7) {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const events: LiveEvent[] = [];
    for await (const each of eventsOf(stream)) events.push(each);
    expect(events).toEqual([event, other]);
  }
});
