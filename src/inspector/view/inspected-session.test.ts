import { describe, expect, it } from "vitest";
import type { Message } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import type { InspectedSession } from "../view/types.ts";
import { createInspectedSession, givenWindow } from "./inspected-session.ts";

const KEY = ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].join("");

const session = (change: Partial<InspectedSession>): InspectedSession => ({
  name: "session.json",
  format: "opencode",
  windowTokens: 200_000,
  windowKnown: true,
  transcript: [],
  redactedSecrets: 0,
  problems: [],
  ...change,
});

const message = (part: Part, more: Partial<Message> = {}): Partial<InspectedSession> => ({
  transcript: [{ id: "m1", role: "assistant", parts: [part], ...more }],
});

const tool = (more: object): Part => ({
  type: "tool",
  callId: "c1",
  tool: "bash",
  input: {},
  outcome: { status: "done", output: "", attachments: [] },
  ...more,
});

const PLACES: Readonly<Record<string, Partial<InspectedSession>>> = {
  "the name": { name: `/tmp/${KEY}.json` },
  "the title": { title: `Use ${KEY}` },
  "the folder": { workingDirectory: `/home/dev/${KEY}` },
  "a problem": { problems: [`line 3 is torn: ${KEY}`] },
  "a text": message({ type: "text", text: `token ${KEY}` }),
  reasoning: message({ type: "reasoning", text: `the token is ${KEY}` }),
  "a hidden message": message({ type: "text", text: KEY }, { metadata: { agentVisible: false } }),
  "a hidden part": message({ type: "text", text: KEY, agentVisible: false }),
  "a tool's name": message(tool({ tool: KEY })),
  "an input": message(tool({ input: { nested: [{ command: `curl -H 'x: ${KEY}'` }] } })),
  "a name in an input": message(tool({ input: { [KEY]: 1 } })),
  "a path": message(tool({ input: { filePath: `/home/dev/${KEY}/file.ts` } })),
  "an output": message(tool({ outcome: { status: "done", output: `TOKEN=${KEY}`, attachments: [] } })),
  "an output with escapes in the key": message(
    tool({
      outcome: {
        status: "done",
        output: `${KEY.slice(0, 9)}\x1b[0m${KEY.slice(9)}`,
        attachments: [],
      },
    }),
  ),
  "an error of a tool": message(tool({ outcome: { status: "failed", error: `bad ${KEY}` } })),
  "an error": message({ type: "text", text: "" }, { error: { name: "APIError", text: `refused ${KEY}` } }),
  "an attached file": message({ type: "file", mime: "text/plain", filename: `${KEY}.txt` }),
  "a part nobody knows": message({ type: "opaque", name: KEY }),
};

function redactSession(given: InspectedSession): InspectedSession {
  return createInspectedSession({ ...given, window: givenWindow(given.windowTokens) }, "redacted");
}

describe("createInspectedSession", () => {
  it.each(Object.entries(PLACES))("finds a secret in %s", (_, place) => {
    const redacted = redactSession(session(place));
    expect(JSON.stringify(redacted)).not.toContain(KEY);
    expect(JSON.stringify(redacted)).not.toContain(KEY.slice(9));
    expect(redacted.redactedSecrets).toBeGreaterThan(0);
  });

  it("reads an input with the names of its values", () => {
    const input = { env: { DB_PASSWORD: "kT9#vLq2!xWz84mB" } };
    const redacted = redactSession(session(message(tool({ input }))));
    expect(JSON.stringify(redacted)).not.toContain("vLq2");
  });

  it("changes nothing where there is no secret, not even a control character", () => {
    const before = session({
      title: "A title",
      ...message(tool({ input: { a: [1, "two", null], b: { c: true } }, outcome: { status: "pending" } }), {
        createdAt: 1,
      }),
      problems: ["\x1b[31mred"],
    });
    expect(redactSession(before)).toEqual(before);
  });

  it("counts each secret", () => {
    const two = `${KEY} and ${KEY.toUpperCase().replace("GHP_", "ghp_")}`;
    const { redactedSecrets } = redactSession(session(message({ type: "text", text: two })));
    expect(redactedSecrets).toBe(2);
  });
});
