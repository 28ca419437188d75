import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { call, callAll, type ScriptedCall, say } from "../../rig/model-server/step.ts";
import type { HostRig } from "../harness/host-rig.ts";
import { describeHosts } from "../harness/scenario.ts";
import { textOf, waitForDeliveries } from "./fork-support.ts";

const primary = (permission: object) => ({ mode: "primary", description: "Does things", permission });

/** Agents with rules; what each may make of the three things that are tried. */
const AGENTS = {
  free: { rules: {}, makes: ["file", "shell", "docs"] },
  reviewer: { rules: { edit: "deny" }, makes: ["shell"] },
  shellless: { rules: { bash: "deny" }, makes: ["file", "docs"] },
  writer: { rules: { edit: { "*": "deny", "docs/*": "allow" } }, makes: ["shell", "docs"] },
  picky: { rules: { bash: { "*": "allow", "touch *": "deny" } }, makes: ["file", "docs"] },
} as const;

describeHosts("the rules of a fork's caller", (host) => {
  const shared = host.shareRig({
    plugin: {},
    // Not the rig's `"*": "allow"`: it would come after the rules of the agents.
    config: {
      permission: {},
      snapshot: false,
      agent: {
        ...Object.fromEntries(Object.entries(AGENTS).map(([name, { rules }]) => [name, primary(rules)])),
        forgetful: primary({ recall: "deny", task: "deny" }),
      },
    },
  });

  for (const [agent, { makes }] of Object.entries(AGENTS))
    host.scenario(
      `a fork of the agent "${agent}" makes what its parent may make`,
      { shared, proves: "the same three calls by the parent and by its fork leave the same traces" },
      async (rig) => {
        mkdirSync(join(rig.sandbox.project, "docs"), { recursive: true });
        const id = await rig.newSession();
        await rig.turn(id, { text: "Make them.", agent }, [
          callAll(tries(rig, `${agent}-parent`)),
          say("Made."),
        ]);
        rig.model.script([
          callAll(tries(rig, `${agent}-child`), { family: "child" }),
          say("Made.", { family: "child" }),
        ]);
        await rig.turn(id, { text: "Fork.", agent }, [
          call("fork", { prompt: "Make them." }),
          say("Forked."),
          say("Seen.", { contains: "fork_result delivery" }),
        ]);
        await waitForDeliveries(rig, id, 1);
        expect(made(rig, `${agent}-parent`)).toEqual(makes);
        expect(made(rig, `${agent}-child`)).toEqual(makes);
      },
    );

  host.scenario(
    "an agent is advised nothing that its rules deny",
    { shared, proves: "a cut output names no recall where that is denied, and a wrong agent no other one" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, { text: "Count.", agent: "forgetful" }, [
        callAll([rig.tools.run("seq 1 9000")]),
        call("fork", { prompt: "Look.", agent: "nobody" }),
        say("Counted."),
      ]);
      const last = rig.requests({ sessionId: id }).at(-1);
      expect(JSON.stringify(last?.body.tools)).not.toContain('"recall"');
      const text = last === undefined ? "" : textOf(last);
      expect(text).toMatch(/Full output kept: [^\]]*handle/);
      expect(text).not.toMatch(/recall/);
      expect(text).toContain("No agent may be started here: do it yourself.");
    },
  );
});

const places = (name: string) => ({ file: `${name}.txt`, shell: `${name}.sh`, docs: `docs/${name}.txt` });

function tries({ tools }: HostRig, name: string): readonly ScriptedCall[] {
  const { file, shell, docs } = places(name);
  return [tools.write(file, "made\n"), tools.run(`touch ${shell}`), tools.write(docs, "made\n")];
}

function made({ sandbox }: HostRig, name: string): readonly string[] {
  return Object.entries(places(name)).flatMap(([kind, path]) =>
    existsSync(join(sandbox.project, path)) ? [kind] : [],
  );
}
