import fc from "fast-check";
import { expect } from "vitest";
import { createSeededRandom, historyOf } from "../../rig/random-history/history.ts";
import { lowerToOpenCode } from "../../rig/random-history/lower-to-opencode.ts";
import { randomSession, storableText } from "../../rig/random-history/random-history.ts";
import { scenario } from "../harness/scenario.ts";

scenario(
  "sessions imported in one go",
  {
    proves: "they are stored as `opencode import` stores them, and everything we generate passes its schema",
  },
  async (rig) => {
    const histories = fc.sample(randomSession(storableText), 30);
    const history = historyOf(histories.flatMap(({ steps }) => steps));
    const session = (number: number) =>
      lowerToOpenCode(history, { number, random: createSeededRandom(histories.length) });
    const [byCommand = "", asRows = ""] = await rig.importSessions([
      session(77_777_771),
      session(77_777_772),
    ]);
    const stored = await rig.opencode.messages(byCommand);
    const renamed = JSON.stringify(await rig.opencode.messages(asRows)).replaceAll("77777772", "77777771");
    expect(stored.length).toBeGreaterThan(100);
    expect(JSON.parse(renamed)).toEqual(stored);
  },
);
