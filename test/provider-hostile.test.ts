import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { repairPairing } from "../src/stages/repair.ts";
import { deepFreeze } from "./rig/notation.ts";
import type { History } from "./rig/random-history/history.ts";
import { PROVIDER_CASES } from "./rig/random-history/provider-cases.ts";

const fixture = resolve(import.meta.dirname, "../../shared/fixtures/hostile-inputs.mjs");
const isThere = existsSync(fixture);
if (!isThere)
  console.log(
    "skipped: hostile texts and ids on the wires (../shared/fixtures/hostile-inputs.mjs is not there)",
  );

interface Hostile {
  readonly texts: () => readonly { readonly id: string; readonly text: string }[];
  readonly ids: readonly string[];
}

/** A text or an id wherever a conversation can hold one. */
function history({ text = "ok", id = "call_1", tool = "read" }): History {
  return {
    system: "be brief",
    steps: [
      { type: "user", texts: [text, "go on"], images: [] },
      {
        type: "model",
        model: "north",
        thoughts: [],
        text,
        calls: [{ id, tool, input: { path: text, deep: [{ text }] } }],
      },
      { type: "results", results: [{ callId: id, tool, text, isError: false, image: undefined }] },
    ],
    isThinking: false,
    cacheMarks: 1,
  };
}

describe.skipIf(!isThere).each(PROVIDER_CASES)("what is hostile on $api", async ({ format, lower }) => {
  const { texts, ids }: Hostile = isThere
    ? ((await import(pathToFileURL(fixture).href)) as Hostile)
    : { texts: () => [], ids: [] };

  const repaired = (given: History) => {
    const wire = deepFreeze(lower(given));
    return format.apply(wire, repairPairing(format.decode(wire), { lastMessage: "user" }), { at: 1 });
  };

  it.each(texts())("$id is taken once it is repaired", ({ text }) => {
    const sent = repaired(history({ text }));
    expect(format.faults(sent)).toEqual([]);
    expect(repairPairing(format.decode(sent), { lastMessage: "user" })).toEqual([]);
  });

  it.each(ids)("the id %j is taken once it is repaired", (id) => {
    const sent = repaired(history({ id }));
    expect(format.faults(sent)).toEqual([]);
    expect(JSON.stringify(sent)).not.toContain("not available");
  });
});
