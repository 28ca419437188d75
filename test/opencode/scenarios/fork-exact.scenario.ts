import { expect } from "vitest";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { ANTHROPIC_WINDOW, LONG_WINDOW, RESPONSES_WINDOW } from "../../rig/opencode/sandbox.ts";
import { sharedPrefix, toolNamesOf } from "../../rig/opencode/shared-prefix.ts";
import { describeHosts } from "../harness/scenario.ts";
import { firstChildRequest, requestWith, textOf, waitForDeliveries } from "./fork-support.ts";

describeHosts("a full fork", (host) => {
  const shared = host.shareRig({
    plugin: {},
    files: { "notes.txt": "The cat is grey.\n" },
  });

  for (const { name, model } of [
    { name: "a full fork reads the parent's prefix on OpenAI's wire", model: LONG_WINDOW },
    { name: "a full fork reads the parent's prefix on Anthropic's wire", model: ANTHROPIC_WINDOW },
    {
      name: "a full fork reads the parent's prefix on the wire of OpenAI's responses",
      model: RESPONSES_WINDOW,
    },
  ]) {
    host.scenario(
      name,
      {
        shared,
        proves: "99 % of the parent's body is the child's prefix; same tools, same system, same affinity",
      },
      async (rig) => {
        const id = await rig.newSession();
        await rig.turn(id, { text: "What colour is the cat?", model }, [
          callAll([rig.tools.run("cat notes.txt")], { reasoning: "A file." }),
          say("The cat is grey."),
        ]);
        rig.model.script([
          callAll([rig.tools.run("cat notes.txt")], { family: "child" }),
          say("The report: grey.", { family: "child" }),
        ]);
        await rig.turn(id, { text: "Fork it.", model }, [
          call("fork", { prompt: "Check the colour once more." }),
          say("Forked."),
          say("Seen.", { contains: "fork_result delivery" }),
        ]);
        const child = await firstChildRequest(rig, id);
        const parent = requestWith(rig, id, "Fork it.");
        const { sharedChars, earlierChars, share } = sharedPrefix(parent, child);
        console.log(
          `${rig.host}, ${parent.wire}: ${sharedChars} of ${earlierChars} characters of the parent's request are the child's prefix (${(share * 100).toFixed(2)} %)`,
        );
        expect(share).toBeGreaterThan(0.99);
        expect(toolNamesOf(child)).toEqual(toolNamesOf(parent));
        expect(JSON.stringify(child.body.tools)).toBe(JSON.stringify(parent.body.tools));
        expect(child.headers["x-session-affinity"]).toBe(id);
        expect(child.body.prompt_cache_key).toBe(parent.body.prompt_cache_key);
        const text = textOf(child);
        expect(text).toContain("You are fork 1");
        expect(text).toContain("Check the colour once more.");
        expect(text).not.toContain("inherited 3 messages");
        expect(text).toContain("Nothing was left out for you.");
        expect(text).not.toContain("re-read the files");
        await waitForDeliveries(rig, id, 1);
        const second = rig.requests({ parentSessionId: id })[1];
        expect(second && sharedPrefix(child, second).share).toBe(1);
      },
    );
  }
});
