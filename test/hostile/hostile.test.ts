import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, type EntryPoint } from "./entry-points.ts";
import { findHarm, findMalformed } from "./find-harm.ts";
import { type HostileText, hostileTexts } from "./hostile-texts.ts";

const fixture = resolve(import.meta.dirname, "../../../shared/fixtures/hostile-inputs.mjs");
const isThere = existsSync(fixture);
if (!isThere) console.log("hostile texts of ../shared: not there, only our own are used");

const sets: Readonly<Record<string, readonly HostileText[]>> = {
  "our own": hostileTexts(),
  ...(isThere && { "the shared": await sharedTexts() }),
};

async function sharedTexts(): Promise<readonly HostileText[]> {
  const { texts } = (await import(pathToFileURL(fixture).href)) as { texts: () => readonly HostileText[] };
  return texts();
}

describe.each(Object.entries(sets))("%s hostile texts", (name, texts) => {
  let held = 0;

  describe.each(ENTRY_POINTS)("as $name", (entryPoint) => {
    it.each(texts)("$id do no harm", async ({ text }) => {
      expect(await harmDone(entryPoint, text)).toEqual([]);
      held++;
    });
  });

  afterAll(() => {
    const all = texts.length * ENTRY_POINTS.length;
    console.log(`hostile text, ${name}: ${held} of ${all} (${texts.length} texts × ${ENTRY_POINTS.length})`);
  });

  it("are eighty", () => expect(texts).toHaveLength(80));
});

async function harmDone({ enter }: EntryPoint, text: string): Promise<readonly unknown[]> {
  const { read, sent, faults, unsettled } = await enter(text);
  return [...read.flatMap(findHarm), ...sent.flatMap(findMalformed), ...faults, ...unsettled];
}
