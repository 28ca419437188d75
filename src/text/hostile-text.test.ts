import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { FENCED_TAGS, fence, fenceData } from "./fence.ts";
import { normalizeText } from "./normalize.ts";
import { redactSecrets } from "./secrets/redact-secrets.ts";

interface HostileText {
  readonly id: string;
  readonly text: string;
}

interface SecretSample {
  readonly id: string;
  readonly text: string;
  readonly secret: string;
}

interface HardSample {
  readonly id: string;
  readonly secret: string;
  readonly text?: string;
  readonly chunks?: readonly string[];
}

interface SecretFixtures {
  makePositives(seed?: number): readonly SecretSample[];
  makeNegatives(seed?: number): readonly HostileText[];
  makeHardPositives(seed?: number): readonly HardSample[];
  leaks(output: string, secret: string): boolean;
  readonly LENIENT: ReadonlySet<string>;
}

const fixtures = resolve("../shared/fixtures");
const isAbsent = !existsSync(fixtures);
if (isAbsent) console.log(`hostile-text: skipped, there is no ${fixtures}`);

async function load(name: string): Promise<unknown> {
  return isAbsent ? undefined : import(pathToFileURL(resolve(fixtures, name)).href);
}

const hostile = (await load("hostile-inputs.mjs")) as { texts(): readonly HostileText[] } | undefined;
const secrets = (await load("secrets-fixtures.mjs")) as SecretFixtures | undefined;
const texts = hostile?.texts() ?? [];

const TAG = new RegExp(`<\\s*/?\\s*(?:${FENCED_TAGS.join("|")})`, "i");

function folded(text: string): string {
  return text.normalize("NFKC").replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
}

describe.skipIf(isAbsent)("hostile text", () => {
  it.each(texts)("$id comes out clean, fenced and stable", ({ text }) => {
    const normal = normalizeText(text);
    expect(normalizeText(normal)).toBe(normal);
    const redacted = redactSecrets(normal);
    expect(redactSecrets(redacted)).toBe(redacted);

    for (const clean of [fence(redacted, FENCED_TAGS), fenceData(redacted)]) {
      expect(clean.isWellFormed()).toBe(true);
      expect(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/.exec(clean)).toBeNull();
      expect(TAG.exec(folded(clean))).toBeNull();
      expect(normalizeText(clean)).toBe(clean);
    }
    const quoted = fenceData(redacted);
    expect(fenceData(quoted)).toBe(quoted);
    expect(/<\|\w+\|>|\[\/?INST\]|<<\/?SYS>>/.exec(folded(quoted))).toBeNull();
    // Un-normalized text may reach the redactor too; it must get through.
    expect(redactSecrets(text).length).toBeLessThanOrEqual(text.length + 64);
  });
});

describe.skipIf(isAbsent)("secret samples", () => {
  it("lose every secret of every known format, over many seeds", () => {
    const { makePositives, leaks } = secrets as SecretFixtures;
    for (let seed = 42; seed < 62; seed++) {
      const leaked = makePositives(seed).filter(({ text, secret }) => leaks(redactSecrets(text), secret));
      expect(leaked.map(({ id }) => `${seed}: ${id}`)).toEqual([]);
    }
  });

  it("are told apart from look-alikes, over many seeds", () => {
    const { makeNegatives, LENIENT } = secrets as SecretFixtures;
    for (let seed = 43; seed < 63; seed++) {
      const changed = makeNegatives(seed).filter(({ text }) => redactSecrets(text) !== text);
      expect(changed.map(({ id }) => id).filter((id) => !LENIENT.has(id))).toEqual([]);
    }
  });

  it("stay hidden in awkward delivery, once chunks are joined", () => {
    const { makeHardPositives, leaks } = secrets as SecretFixtures;
    const leaked = makeHardPositives().filter(({ text, chunks, secret }) =>
      leaks(redactSecrets(normalizeText(text ?? chunks?.join("") ?? "")), secret),
    );
    expect(leaked.map(({ id }) => id)).toEqual([]);
  });

  it("need no second redaction", () => {
    const { makePositives } = secrets as SecretFixtures;
    for (const { text } of makePositives()) {
      const redacted = redactSecrets(text);
      expect(redactSecrets(redacted)).toBe(redacted);
    }
  });
});
