import { type BlockFormat, createBlockFormat } from "../blocks/create-block-format.ts";
import { findGeminiFaults } from "./find-gemini-faults.ts";
import { geminiAdapter } from "./gemini-adapter.ts";
import type { GeminiWire } from "./gemini-wire.ts";

/** Requests of Google's Gemini API, or their bare lists of contents. */
export const gemini: BlockFormat<GeminiWire> = createBlockFormat(geminiAdapter, (wire) =>
  findGeminiFaults(wire),
);
