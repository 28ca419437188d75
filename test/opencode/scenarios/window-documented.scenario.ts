import { expect } from "vitest";
import { SECRETS_RULE } from "../../../src/compaction/summary/request.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { SHORT_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { messagesOf } from "./window-support.ts";

const LINES = Array.from({ length: 6_000 }, (_, index) => `${index} a line of the long report`).join("\n");
const ROOMY = { inputTokens: 2_000, outputTokens: 10 };
const FULL = { inputTokens: 5_990, outputTokens: 10 };

scenario(
  'profile "documented" leaves the window alone',
  {
    plugin: {
      profile: "documented",
      prune: "auto",
      compaction: "host-with-facts",
      pin: ["RULES.md", "a text"],
    },
    why: "the profile is the option, and it must win over the others",
    twin: { none: "the default profile is what every other scenario plays" },
    files: { "long.txt": `${LINES}\n`, "RULES.md": "Keep it short.\n" },
    proves:
      "outputs, messages and the request for a summary are what they are without the plugin, but for the rule about secrets that document 003 asks for",
  },
  async (rig) => {
    const documented = await play(rig);
    await rig.restart({ plugin: "none" });
    const plain = await play(rig);
    expect(documented.length).toBeGreaterThan(4);
    const rule = JSON.stringify(`\n\n${SECRETS_RULE}`).slice(1, -1);
    expect(documented.filter((request) => request.includes(rule))).toHaveLength(1);
    expect(documented.map((request) => request.replace(rule, ""))).toEqual(plain);
  },
);

/** One conversation with a long output and a compaction; gives what was sent, without what is new each time. */
async function play(rig: Rig): Promise<readonly string[]> {
  const id = await rig.newSession();
  await rig.turn(id, { text: "Show it. #pin", model: SHORT_WINDOW }, [
    call("bash", { command: "cat long.txt", description: "Show" }, { usage: ROOMY }),
    say("Seen.", { usage: ROOMY }),
  ]);
  await rig.turn(id, { text: "Go on.", model: SHORT_WINDOW }, [
    say("Full.", { usage: FULL }),
    say("## Objective\n- Go on", { lane: "summary" }),
    say("Nothing is left.", { usage: ROOMY }),
  ]);
  return rig
    .requests({ sessionId: id, lane: "any" })
    .filter(({ lane }) => lane !== "title")
    .map((request) => JSON.stringify(messagesOf(request)).replace(/\b(?:tool|call)_[\w-]+/g, "<id>"));
}
