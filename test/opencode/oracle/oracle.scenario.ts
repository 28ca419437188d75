import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect } from "vitest";
import type { SessionExport } from "../../../src/formats/wires/opencode/decode-messages.ts";
import { comparable } from "../../opencode-window/wire-session.ts";
import { say } from "../../rig/model-server/step.ts";
import type { ChatMessage } from "../../rig/opencode/recording.ts";
import { LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import { createSeededRandom } from "../../rig/random-history/history.ts";
import { lowerToOpenCode } from "../../rig/random-history/lower-to-opencode.ts";
import { randomSession, storableText } from "../../rig/random-history/random-history.ts";
import { reportFolderOf } from "../harness/leave-report.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { type Prediction, predictRequest } from "./predict-request.ts";

const SESSIONS = Number(process.env.CARRYOVER_ORACLE_SESSIONS ?? 20);

const NAME = `the oracle, ${SESSIONS} generated sessions`;
const DIFFERENCES = `${reportFolderOf(NAME)}-differences`;

scenario(
  NAME,
  {
    proves:
      "each request that the host sends is the one our OpenCode format predicts, or differs as documented",
    config: { snapshot: false },
    timeoutMs: 240_000 + SESSIONS * 3_000,
  },
  async (rig) => {
    rmSync(DIFFERENCES, { recursive: true, force: true });
    const sessions = fc
      .sample(randomSession(storableText), SESSIONS)
      .map((history, number) => lowerToOpenCode(history, { number, random: createSeededRandom(number) }));
    await rig.importSessions(sessions);
    const verdicts: Verdict[] = [];
    const waiting = [...sessions];
    const work = async (): Promise<void> => {
      for (let session = waiting.pop(); session !== undefined; session = waiting.pop()) {
        verdicts.push(await judge(rig, session));
      }
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work));
    const tails = verdicts.filter(({ hasTail }) => hasTail).length;
    console.log(`             ${countOf(verdicts)}; ${tails} windows with a retained tail`);
    const unexplained = verdicts.filter(({ verdict }) => verdict === "unexplained");
    expect(
      unexplained.map(({ id }) => id),
      `see ${DIFFERENCES}`,
    ).toEqual([]);
    expect(tails, "retained tails were among the sessions").toBeGreaterThan(0);
  },
);

const ASKED_AT_ONCE = 3;

interface Verdict {
  readonly id: string;
  readonly hasTail: boolean;
  /** As predicted, unexplained, or the faults that explain the difference. */
  readonly verdict: string;
}

async function judge(rig: Rig, session: SessionExport): Promise<Verdict> {
  const id = session.info.id ?? "";
  const { sent, prediction } = await ask(rig, id);
  const { ours, hosts, healed, faults, hasTail } = prediction;
  if (isEqual(sent, hosts) && isEqual(ours, healed)) {
    if (isEqual(sent, ours)) return { id, hasTail, verdict: "as predicted" };
    if (faults.length > 0) return { id, hasTail, verdict: faults.toSorted().join(" and ") };
  }
  mkdirSync(DIFFERENCES, { recursive: true });
  writeFileSync(`${DIFFERENCES}/${id}.json`, JSON.stringify({ sent, ...prediction, session }, null, 2));
  return { id, hasTail, verdict: "unexplained" };
}

function countOf(verdicts: readonly Verdict[]): string {
  const counts = new Map<string, number>();
  for (const { verdict } of verdicts) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(", ");
}

interface Asked {
  readonly sent: readonly ChatMessage[];
  readonly prediction: Prediction;
}

async function ask(rig: Rig, id: string): Promise<Asked> {
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
