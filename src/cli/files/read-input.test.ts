import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cliSamples } from "../../../test/rig/cli-samples.ts";
import { createFakeClock } from "../../../test/rig/fakes.ts";
import { runs } from "../../../test/rig/runs.ts";
import { compact } from "../../compaction/compact.ts";
import { formatOf } from "../../formats/read-transcript.ts";
import { planFileCompaction } from "../../inspector/view/plan-file-compaction.ts";
import { profileSession } from "../inspect/profile-session.ts";
import { CliError } from "../terminal/cli-error.ts";
import { readBytes } from "./read-input.ts";
import { explainUnreadable } from "./unreadable.ts";

const samples = cliSamples().map(({ text }) => text.slice(0, 30_000));

/** A file with some of its characters gone, doubled or replaced, and perhaps cut off. */
const brokenFile = fc
  .record({
    text: fc.constantFrom(...samples),
    wounds: fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        length: fc.integer({ min: 0, max: 40 }),
        by: fc.constantFrom("", "null", "7", "[]", "{}", '"', "\n", "\0", "\ud800", '"role":0,'),
      }),
      { maxLength: 4 },
    ),
    end: fc.double({ min: 0.01, max: 1.5, noNaN: true }),
  })
  .map(({ text, wounds, end }) =>
    wounds
      .reduce((wounded, { at, length, by }) => {
        const start = Math.floor(at * wounded.length);
        return wounded.slice(0, start) + by + wounded.slice(start + length);
      }, text)
      .slice(0, Math.ceil(end * text.length)),
  );

/** A file that is whole JSON, with values in it that no agent would write. */
const strangeFile = fc
  .record({
    text: fc.constantFrom(...cliSamples().map((sample) => sample.text)),
    field: fc.constantFrom(
      ...["content", "role", "parts", "info", "input", "message", "id", "type", "payload", "output", "text"],
    ),
    by: fc.constantFrom("null", "7", "[]", "{}", '""', "true", "[null]", '[{"type":"text"}]'),
    every: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ text, field, by, every }) => {
    let number = 0;
    return text.replace(new RegExp(`"${field}":("[^"\\\\]*"|\\d+|null)`, "g"), (whole) =>
      number++ % every === 0 ? `"${field}":${by}` : whole,
    );
  });

async function isHandled(text: string): Promise<boolean> {
  let file: Awaited<ReturnType<typeof readBytes>>;
  try {
    file = await readBytes(Buffer.from(text), "it");
  } catch (error) {
    return error instanceof CliError && error.message.startsWith("it");
  }
  const { chars, tokens } = profileSession(file.transcript, { top: 3 });
  const plan = planFileCompaction(file, { windowTokens: 20_000, keepTokens: 200 });
  const outcome = await compact(plan, { clock: createFakeClock() }, { at: 1 });
  formatOf(file.format).apply(file.wire, outcome.edits, { at: 1 });
  return chars >= 0 && tokens >= 0;
}

describe("a file that is not as it should be", () => {
  it("is read as far as it goes, or refused with a reason", async () => {
    await fc.assert(fc.asyncProperty(brokenFile, isHandled), { numRuns: runs(150) });
  });

  it("does no harm with values of the wrong type", async () => {
    await fc.assert(fc.asyncProperty(strangeFile, isHandled), { numRuns: runs(150) });
  });

  it("is told apart from a fault of ours", async () => {
    await expect(readBytes(Buffer.from("{"), "it")).rejects.toMatchObject({
      code: "CARRYOVER_CLI",
      exitCode: 2,
    });
  });
});

it("is read in UTF-16 too, as some shells write it", async () => {
  const text = cliSamples()[0]?.text ?? "";
  const wide = await readBytes(Buffer.from(`\ufeff${text}`, "utf16le"), "it");
  const plain = await readBytes(Buffer.from(text), "it");
  expect(wide.transcript).toEqual(plain.transcript);
  expect(wide.warnings).toEqual(plain.warnings);
});

it("is said to be too long for one JSON text, and not broken, where it is longer than a text can be", () => {
  const huge = { length: 600_000_000, subarray: () => new Uint8Array([0x7b]) } as unknown as Uint8Array;
  const { message, advice } = explainUnreadable(huge, {
    name: "export.json",
    reason: "no line could be read",
  });
  expect(message).toMatch(
    /^export\.json has [\d.]+ MB: one JSON text of more than [\d.]+ MB cannot be parsed$/,
  );
  expect(advice.join()).toContain("need not be broken");
});

it("has the title that was given to it, and not that of another session", async () => {
  const line = { type: "user", uuid: "mine", sessionId: "s", message: { role: "user", content: "Hello" } };
  const title = (summary: string, leafUuid: string) => ({ type: "summary", summary, leafUuid });
  const titleOf = async (...lines: readonly object[]) =>
    (await readBytes(Buffer.from(lines.map((each) => JSON.stringify(each)).join("\n")), "it")).title;
  expect(await titleOf(title("Mine", "mine"), title("Another", "elsewhere"), line)).toBe("Mine");
  expect(await titleOf(title("Another", "elsewhere"), line)).toBeUndefined();
  expect(await titleOf(line, title("Mine", "mine"))).toBe("Mine");
});
