import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOST_SUMMARY, type HostUnderTest, type ScriptedReply } from "../../../src/testing.ts";
import { createOpenClawWorld, freePort, type OpenClawWorld } from "../agents/openclaw-program.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../model-server/model-server.ts";
import { call, type Step, say } from "../model-server/step.ts";
import type { CommandResult } from "../opencode/run-opencode.ts";

/** OpenClaw's gateway with the published package in the slot of its context engine; its scenarios share one. */
export function openClawHost(cli: () => string): HostUnderTest & { close(): Promise<void> } {
  let opened: Promise<{ readonly server: ModelServer; readonly world: OpenClawWorld }> | undefined;
  const open = async () => {
    const server = await startModelServer();
    const world = createOpenClawWorld(server, dirname(dirname(cli())), await freePort());
    await world.startGateway();
    return { server, world };
  };
  return {
    name: "OpenClaw",
    cannot: {
      pruning: "it asks for the messages of a request only between turns",
      delivery: "it brings results of its sub-agents itself",
    },
    async start({ files }) {
      opened ??= open();
      const { server, world } = await opened;
      for (const [name, text] of Object.entries(files))
        writeFileSync(join(world.sandbox.project, name), text);
      const begun = server.requests.length;
      const session = randomUUID();
      return {
        async turn(text, replies) {
          const before = server.requests.length;
          // What comes of a scenario before, such as the announcement of its child, is answered otherwise.
          server.script(replies.map((reply) => ({ ...stepOf(reply), contains: text })));
          check(await world.ask(text, session));
          return server.requests.slice(before).filter(isOfParent).map(messagesOf);
        },
        async compact() {
          server.script([say(HOST_SUMMARY)]);
          check(await world.compact(session));
        },
        restart: () => world.startGateway(),
        childReply: (text) => server.script([{ contains: CHILD_MARK, reply: { type: "answer", text } }]),
        childRequests: () => server.requests.slice(begun).filter(isOfChild).map(messagesOf),
        stop: async () => server.discardSteps(),
      };
    },
    async close() {
      if (opened === undefined) return;
      const { server, world } = await opened;
      await server.stop();
      await world.remove();
    },
  };
}

function check({ code, stdout, stderr }: CommandResult): void {
  if (code !== 0) throw new Error(`it ended with ${code}: ${stderr}${stdout}`.slice(0, 2_000));
}

const CHILD_MARK = "You are running as a subagent";
const isOfChild = (request: ModelRequest): boolean => messagesOf(request).includes(CHILD_MARK);
const isOfParent = (request: ModelRequest): boolean =>
  request.body.tools !== undefined && !isOfChild(request);

function messagesOf({ body }: ModelRequest): string {
  return JSON.stringify(body.messages);
}

/** Tools that are not always listed are called through another. */
function stepOf(reply: ScriptedReply): Step {
  if ("say" in reply) return say(reply.say);
  if (reply.call === "bash") return call("exec", reply.args);
  if (reply.call !== "fork") return call(reply.call, reply.args);
  const { prompt } = reply.args as { readonly prompt: string };
  return call("tool_call", { id: "sessions_spawn", args: { task: prompt, context: "fork" } });
}
