import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { call, say } from "../../rig/model-server/step.ts";
import { leaveReport } from "./leave-report.ts";
import { scenario, shareRig } from "./scenario.ts";

describe("one OpenCode for several scenarios", () => {
  const shared = shareRig();

  scenario("a turn", { shared, proves: "it asks the model once" }, async (rig) => {
    await rig.turn(await rig.newSession(), "Hello.", [say("Hello.")]);
    expect(rig.requests()).toHaveLength(1);
  });

  scenario(
    "a new scenario in a shared OpenCode",
    { shared, proves: "it sees nothing of those before it" },
    async (rig) => {
      expect(rig.requests({ lane: "any" })).toEqual([]);
      expect(rig.model.unusedSteps()).toEqual([]);
    },
  );
});

scenario("two instances on one project", { proves: "both see the same sessions" }, async (rig) => {
  const other = await rig.another();
  const id = await other.createSession("Made by the other one");
  await rig.turn(id, "One.", [say("First.")]);
  expect(await other.messages(id)).toHaveLength(2);
});

scenario(
  "opencode run without a server",
  { start: "later", proves: "one turn in a process of its own, answered by the script" },
  async (rig) => {
    rig.model.script([say("Said by the script.")]);
    const { code, stdout } = await rig.run("Say something.");
    expect(code).toBe(0);
    expect(stdout).toContain("Said by the script.");
  },
);

scenario(
  "the network trap",
  { proves: "what a tool asks for beyond this machine is noticed and refused" },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "Fetch it.", [
      call("webfetch", { url: "http://carryover.invalid/page", format: "text" }),
      say("Refused."),
    ]);
    expect(rig.trap.attempts).toEqual(["GET http://carryover.invalid/page"]);
    rig.trap.forget();
    if (process.env.CARRYOVER_NETWORK === "loopback") {
      expect(Object.keys(networkInterfaces())).toEqual(["lo"]);
    }
  },
);

scenario(
  "what a failure leaves",
  { proves: "requests, messages, events and logs lie in the folder that the failure names" },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "One.", [say("First.")]);
    const folder = join(rig.sandbox.root, "report");
    await leaveReport({ folder, rig, requests: rig.requests({ lane: "any" }), cause: new Error("Made up") });
    const read = (file: string): string => readFileSync(join(folder, file), "utf8");
    expect(read("error.txt")).toContain("Made up");
    expect(read("requests.json")).toContain("First.");
    expect(JSON.parse(read(`messages-${id}.json`))).toHaveLength(2);
    expect(read("events.json")).toContain("session.status");
    expect(read("server-output.txt")).toContain("listening on");
    expect(read("opencode.json")).toContain("scripted");
  },
);
