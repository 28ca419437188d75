import fc from "fast-check";
import { expect } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { buildSession } from "./build-session.ts";
import { sessionPlan } from "./session-plan.ts";

scenario(
  "sessions imported in one go",
  {
    proves: "they are stored as `opencode import` stores them, and everything we generate passes its schema",
  },
  async (rig) => {
    const plan = fc.sample(sessionPlan, 30).flat();
    const [byCommand = "", asRows = ""] = await rig.importSessions([
      buildSession(plan, 77_777_771),
      buildSession(plan, 77_777_772),
    ]);
    const stored = await rig.opencode.messages(byCommand);
    const renamed = JSON.stringify(await rig.opencode.messages(asRows)).replaceAll("77777772", "77777771");
    expect(stored.length).toBeGreaterThan(100);
    expect(JSON.parse(renamed)).toEqual(stored);
  },
);
