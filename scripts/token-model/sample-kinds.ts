import { deepIndentation, go, minified, python, typescript } from "./sample-code.ts";
import { base64, base64OfText, hex, json, logs } from "./sample-data.ts";
import { diff, markdown, markup, toolOutput } from "./sample-markup.ts";
import {
  arabic,
  chinese,
  eastAsianDocuments,
  european,
  japanese,
  korean,
  otherDocuments,
  otherScripts,
  prose,
  russian,
} from "./sample-prose.ts";
import type { Sampler } from "./sampler.ts";

/** The kinds of text whose error is bounded by a test. */
export const BOUNDED_KINDS: Readonly<Record<string, Sampler>> = {
  prose,
  TypeScript: typescript,
  JSON: json,
  logs,
  Chinese: chinese,
  Russian: russian,
  base64,
  "hex and UUIDs": hex,
  "deep indentation": deepIndentation,
  "minified JavaScript": minified,
};

/** Every kind of text that the constants are fitted on. */
export const ALL_KINDS: Readonly<Record<string, Sampler>> = {
  ...BOUNDED_KINDS,
  "base64 of text": base64OfText,
  Japanese: japanese,
  Korean: korean,
  Arabic: arabic,
  "European languages": european,
  "other scripts": otherScripts,
  "East Asian documents": eastAsianDocuments,
  "other documents": otherDocuments,
  Markdown: markdown,
  diffs: diff,
  Python: python,
  Go: go,
  "tool output": toolOutput,
  markup,
};
