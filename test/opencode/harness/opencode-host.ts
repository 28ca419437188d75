import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOST_SUMMARY, type HostUnderTest, type ScriptedReply } from "../../../src/testing.ts";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { callAll, type Step, say } from "../../rig/model-server/step.ts";
import { MIDDLE_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { HostRig, OpenHostRig } from "./host-rig.ts";

/** The real OpenCode as the contract of hosts plays it. Its scenarios share one, each in a session of its own. */
export function openCodeHost(name: string, open: () => Promise<OpenHostRig>): HostUnderTest {
  return {
    name,
    async start({ files }) {
      const rig = await open();
      for (const [file, text] of Object.entries(files)) writeFileSync(join(rig.sandbox.project, file), text);
      const sessionId = await rig.newSession();
      const begun = rig.model.requests.length;
      return {
        async turn(text, replies) {
          const before = rig.requests({ sessionId }).length;
          const steps = replies.map((reply) => stepOf(rig, reply));
          await rig.turn(sessionId, { text, model: MIDDLE_WINDOW }, steps);
          return rig.requests({ sessionId }).slice(before).map(messagesOf);
        },
        async compact() {
          rig.model.script([say(HOST_SUMMARY, { lane: "summary", sessionId })]);
          await rig.compact(sessionId, MIDDLE_WINDOW);
        },
        restart: () => rig.restart(),
        childReply: (text) => rig.model.script([say(text, { contains: CHILD_MARK })]),
        childRequests: () =>
          rig.model.requests
            .slice(begun)
            .map(messagesOf)
            .filter((messages) => messages.includes(CHILD_MARK)),
        stop: async () => rig.model.discardSteps(),
      };
    },
  };
}

const CHILD_MARK = "You are fork";

function messagesOf({ body }: ModelRequest): string {
  return JSON.stringify(body.messages ?? body.input);
}

function stepOf(rig: HostRig, reply: ScriptedReply): Step {
  if ("say" in reply) return say(reply.say);
  const { call: tool, args } = reply;
  const { command } = args as { readonly command?: string };
  return callAll([command === undefined ? { tool, input: args } : rig.tools.run(command)]);
}
