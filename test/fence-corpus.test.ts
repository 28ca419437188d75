import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { fenceData } from "../src/text/fence.ts";
import { normalizeText } from "../src/text/normalize.ts";
import { partText } from "../src/transcript/content.ts";

const EVAL = join(import.meta.dirname, "../../shared/eval");

it.skipIf(!existsSync(EVAL))(
  "what agents and people really write reads as it was: few characters in a million are escaped (needs ../shared)",
  { timeout: 120_000 },
  async () => {
    let chars = 0;
    let escaped = 0;
    const seen = new Map<string, number>();
    for (const file of ["corpus", "corpus2"].flatMap((name) => filesIn(join(EVAL, name)))) {
      if (file.endsWith("manifest.json")) continue;
      const { transcript } = await readTranscript(
        file.endsWith(".gz") ? gunzipSync(readFileSync(file)) : readFileSync(file),
      );
      for (const part of transcript.flatMap(({ parts }) => parts)) {
        const text = normalizeText(partText(part));
        chars += text.length;
        // The tags of our frames and of hosts are meant to be escaped: here it is about tokens and speakers.
        for (const place of escapedPlaces(text, fenceData(text, []))) {
          escaped += 1;
          const what = text.slice(Math.max(0, place - 8), place + 16).replaceAll("\n", " ");
          if (process.env.CARRYOVER_SHOW) seen.set(what, (seen.get(what) ?? 0) + 1);
        }
      }
    }
    const perMillion = (escaped / chars) * 1e6;
    console.log(`  ${escaped} of ${chars} characters escaped: ${perMillion.toFixed(1)} in a million`);
    if (process.env.CARRYOVER_SHOW) console.log([...seen].toSorted((a, b) => b[1] - a[1]).slice(0, 40));
    expect(chars).toBeGreaterThan(1_000_000);
    expect(perMillion).toBeLessThan(10);
  },
);

function* escapedPlaces(text: string, fenced: string): Generator<number> {
  for (let at = 0, place = 0; place < fenced.length; at++) {
    const isSame = text[at] === fenced[place];
    if (!isSame) yield at;
    place += isSame ? 1 : fenced.indexOf(";", place) + 1 - place;
  }
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}
