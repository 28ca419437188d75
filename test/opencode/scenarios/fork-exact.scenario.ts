import { describe, expect } from "vitest";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { ANTHROPIC_WINDOW, LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import { sharedPrefix, toolNamesOf } from "../../rig/opencode/shared-prefix.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario, shareRig } from "../harness/scenario.ts";

describe("an exact fork", () => {
  const shared = shareRig({
    plugin: {},
    files: { "notes.txt": "The cat is grey.\n" },
  });

  for (const { name, model } of [
    { name: "an exact fork reads the parent's prefix on OpenAI's wire", model: LONG_WINDOW },
    { name: "an exact fork reads the parent's prefix on Anthropic's wire", model: ANTHROPIC_WINDOW },
  ]) {
    scenario(
      name,
      {
        shared,
        proves: "99 % of the parent's body is the child's prefix; same tools, same system, same affinity",
      },
      async (rig) => {
        const id = await rig.newSession();
        await rig.turn(id, { text: "What colour is the cat?", model }, [
          call("bash", { command: "cat notes.txt", description: "Read" }),
          say("The cat is grey."),
        ]);
        rig.model.script([say("The report: grey.", { family: "child" })]);
        await rig.turn(id, { text: "Fork it.", model }, [
          call("fork", { prompt: "Check the colour once more." }),
          say("Forked."),
        ]);
        const child = await firstChildRequest(rig, id);
        const parent = requestBefore(rig, id, "Fork it.");
        expect(sharedPrefix(parent, child).share).toBeGreaterThan(0.99);
        expect(toolNamesOf(child)).toEqual(toolNamesOf(parent));
        expect(JSON.stringify(child.body.tools)).toBe(JSON.stringify(parent.body.tools));
        expect(child.headers["x-session-affinity"]).toBe(id);
        const text = JSON.stringify(child.body.messages);
        expect(text).toContain("You are fork 1");
        expect(text).toContain("Check the colour once more.");
        expect(text).not.toContain("inherited 3 messages");
        expect(text).toContain("Nothing was left out for you.");
        expect(text).not.toContain("re-read the files");
      },
    );
  }
});

async function firstChildRequest(rig: Rig, parentSessionId: string): Promise<ModelRequest> {
  return rig.waitFor(() => rig.requests({ parentSessionId })[0], "the child's first request");
}

/** The newest request of a session that does not yet know the answer to this text. */
function requestBefore(rig: Rig, sessionId: string, text: string): ModelRequest {
  const found = rig.requests({ sessionId }).find((request) => JSON.stringify(request.body).includes(text));
  if (found === undefined) throw new Error("No request of the parent");
  return found;
}
