import { mkdirSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect } from "vitest";
import type { SessionExport } from "../../../src/formats/opencode/session-message.ts";
import { say } from "../../../src/testing/model-server/say.ts";
import type { ChatMessage } from "../../../src/testing/opencode/recording.ts";
import { LONG_WINDOW } from "../../../src/testing/opencode/scripted-config.ts";
import { comparable } from "../../opencode-window/wire-session.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { buildSession } from "./build-session.ts";
import { type KnownShape, predictRequest } from "./predict-request.ts";
import { sessionPlan } from "./session-plan.ts";

const SESSIONS = Number(process.env.CARRYOVER_ORACLE_SESSIONS ?? 20);

scenario(
  `the oracle: ${SESSIONS} generated sessions`,
  {
    proves:
      "each request that the host sends is the one our OpenCode format predicts, or differs as documented",
    timeoutMs: 60_000 + SESSIONS * 3_000,
  },
  async (rig) => {
    const sessions = fc.sample(sessionPlan, SESSIONS).map(buildSession);
    await rig.importSessions(sessions);
    const seen = new Map<KnownShape | "same", number>();
    const unexplained: string[] = [];
    for (const session of sessions) {
      const { sent, prediction } = await ask(rig, session);
      const { ours, hosts, shapes } = prediction;
      const isOurs = isEqual(sent, ours);
      for (const kind of isOurs ? ["same" as const] : shapes) seen.set(kind, (seen.get(kind) ?? 0) + 1);
      if (isEqual(sent, hosts) && (isOurs || shapes.length > 0)) continue;
      unexplained.push(`${session.info.id} (${shapes.join(", ") || "no known shape"})`);
      mkdirSync("reports/opencode/oracle", { recursive: true });
      writeFileSync(
        `reports/opencode/oracle/${session.info.id}.json`,
        JSON.stringify({ session, sent, ours, hosts, shapes }, null, 2),
      );
    }
    console.log(`              ${[...seen].map(([kind, count]) => `${count} ${kind}`).join(", ")}`);
    expect(unexplained, "see reports/opencode/oracle").toEqual([]);
  },
);

async function ask(rig: Rig, session: SessionExport) {
  const id = session.info.id ?? "";
  await rig.turn(id, { text: "Go on.", model: LONG_WINDOW }, [say("Gone on.")]);
  const [request] = rig.requests({ sessionId: id });
  if (request === undefined) throw new Error(`Nothing was asked for ${id}`);
  const stored = (await rig.opencode.messages(id)).slice(0, -1);
  const sent = (request.body.messages as readonly ChatMessage[]).filter(({ role }) => role !== "system");
  const model = { provider: LONG_WINDOW.providerID, id: LONG_WINDOW.modelID };
  return { sent: comparable(sent), prediction: predictRequest({ stored, model, sent }) };
}

function isEqual(left: readonly ChatMessage[], right: readonly ChatMessage[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
