import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { beforeAll, expect } from "vitest";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import type { Fault } from "../harness/faulty-plugin.ts";
import type { HostRig } from "../harness/host-rig.ts";
import { PLUGIN_ENTRY, PLUGIN_FILE } from "../harness/plugin-specs.ts";
import { describeHosts } from "../harness/scenario.ts";
import { firstChildRequest, letGo, requestWith, textOf, waitForDeliveries, waiting } from "./fork-support.ts";
import { messagesOf } from "./window-support.ts";

const FAULTY_FILE = resolve(PLUGIN_FILE, "../../faulty/carryover.mjs");
const HANDLERS = [
  "onSignal",
  "beforeRequest",
  "beforeTool",
  "afterTool",
  "onUserMessage",
  "cacheOwnerOf",
] as const;

describeHosts("a plugin that fails", (host) => {
  beforeAll(buildFaulty);
  const shared = host.shareRig({ otherPlugins: [pathToFileURL(FAULTY_FILE).href] });
  const ways: readonly Fault["how"][] = ["throw", "hang"];

  for (const how of ways)
    host.scenario(
      `no handler that ${how === "hang" ? "never ends" : "throws"} ends the user's turn`,
      {
        shared,
        proves: "for each of them: the turn is answered, and what was said reaches the model as it is",
      },
      async (rig) => {
        const sessions = await Promise.all(
          HANDLERS.map(async (handler) => ({ id: await rig.newSession(), handler })),
        );
        setFaults(rig, Object.fromEntries(sessions.map(({ id, handler }) => [id, { handler, how }])));
        await Promise.all(sessions.map(({ id }) => playTurn(rig, id)));
        const missed = sessions.filter(({ id, handler }) => !faultsSeen(rig).includes(`${id} ${handler}`));
        expect(missed.map(({ handler }) => handler)).toEqual([]);
      },
    );

  for (const how of ways)
    host.scenario(
      `a compaction goes on without a handler that ${how === "hang" ? "never ends" : "throws"}`,
      { shared, proves: "the host's own summary stands, and the next turn begins with it" },
      async (rig) => {
        const id = await rig.newSession();
        setFaults(rig, { [id]: { handler: "beforeCompaction", how } });
        await playTurn(rig, id);
        rig.model.script([{ sessionId: id, ...say("## Objective\n- FOUND-IT", { lane: "summary" }) }]);
        await rig.compact(id);
        expect(faultsSeen(rig)).toContain(`${id} beforeCompaction`);
        await rig.turn(id, "And now?", [say("Now this.")]);
        expect(JSON.stringify(rig.requests({ sessionId: id }).at(-1)?.body)).toContain("FOUND-IT");
      },
    );

  host.scenario(
    "a list that was half edited when the handler failed is restored",
    { shared, proves: "the bare request leaves" },
    async (rig) => {
      const id = await rig.newSession();
      setFaults(rig, { [id]: { handler: "beforeRequest", how: "half" } });
      await playTurn(rig, id);
      expect(faultsSeen(rig)).toContain(`${id} beforeRequest`);
    },
  );

  for (const how of ways)
    host.scenario(
      `a fork ends with an error when what it inherits cannot be put in front: the handler ${how}s`,
      { shared, proves: "no request leaves without what was inherited, and the parent reads why" },
      async (rig) => {
        const id = await rig.newSession();
        const name = `goes-on-${how}`;
        rig.model.script([
          callAll([waiting(rig, name)], { family: "child" }),
          say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
        ]);
        await rig.turn(id, "Remember 4711.", [call("fork", { prompt: "Look." }), say("Forked.")]);
        await firstChildRequest(rig, id);
        const [child] = await rig.children(id);
        setFaults(rig, { [child?.id ?? ""]: { handler: "beforeRequest", how } });
        letGo(rig, name);
        await waitForDeliveries(rig, id, 1);
        expect(rig.requests({ parentSessionId: id })).toHaveLength(1);
        expect(textOf(requestWith(rig, id, "fork_result delivery"))).toContain("was not sent");
      },
    );
});

/** A turn with a tool whose every word must reach the model and the store. */
async function playTurn(rig: HostRig, id: string): Promise<void> {
  await rig.turn(id, "What is here?", [callAll([rig.tools.run("cat README.md")]), say("A project.")]);
  const last = rig.requests({ sessionId: id }).at(-1);
  const roles = messagesOf(last).map((message) => (message as { readonly role: string }).role);
  expect(roles).toEqual(["user", "assistant", "tool"]);
  expect(JSON.stringify(messagesOf(last))).toContain("What is here?");
  expect(JSON.stringify(messagesOf(last))).toContain("# Project");
  const answers = (await rig.transcript(id)).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  expect(answers).toEqual(["What is here?", "A project."]);
}

function setFaults({ sandbox }: HostRig, faults: Readonly<Record<string, Fault>>): void {
  writeFileSync(join(sandbox.home, "faults.json"), JSON.stringify(faults));
}

function faultsSeen({ sandbox }: HostRig): readonly string[] {
  return readFileSync(join(sandbox.home, "faults.txt"), "utf8").split("\n");
}

let building: Promise<unknown> | undefined;

/** The plugin in one file, with the handlers of `faulty-plugin.ts` in the place of its own. */
function buildFaulty(): Promise<unknown> {
  building ??= (async () => {
    const faulty = resolve(import.meta.dirname, "../harness/faulty-plugin.ts");
    const bundle = await rolldown({
      input: PLUGIN_ENTRY,
      platform: "node",
      logLevel: "warn",
      plugins: [
        {
          name: "faulty",
          resolveId: (source, importer) =>
            source.endsWith("/plugin/plugin.ts") && importer !== faulty ? faulty : null,
        },
      ],
    });
    await bundle.write({ file: FAULTY_FILE, format: "esm", codeSplitting: false });
    await bundle.close();
  })();
  return building;
}
