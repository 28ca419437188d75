import { type Fields, fields, stringField } from "../fields.ts";
import { isUserText } from "./find-gemini-faults.ts";
import { contentsOf, type GeminiContent, type GeminiWire } from "./gemini-wire.ts";
import { NO_SIGNATURES, partsOf } from "./read-gemini-wire.ts";

/** What Google says to send on a call whose signature is not there. */
export const NO_SIGNATURE = "skip_thought_signature_validator";

/**
 * In the current turn the first call of each step is signed where the model signs at all, and only a signature of its
 * own may stand on the calls beside it. The same reference when all is so.
 */
export function signFirstCalls(items: readonly GeminiContent[], wire: GeminiWire): readonly GeminiContent[] {
  if (!signs(wire)) return items;
  const start = items.findLastIndex(
    (item) => fields(item).role !== "model" && partsOf(item).some((part) => isUserText(fields(part))),
  );
  let isChanged = false;
  const signed = items.map((item, index) => {
    const parts = index > start && fields(item).role === "model" ? signParts(partsOf(item)) : undefined;
    if (parts === undefined) return item;
    isChanged = true;
    return { ...item, parts };
  });
  return isChanged ? signed : items;
}

function signs(wire: GeminiWire): boolean {
  const isSigning = /gemini-3/i.test(stringField(fields(wire).model) ?? "");
  return (
    isSigning || contentsOf(wire).some((item) => partsOf(item).some((part) => isCall(part) && isSigned(part)))
  );
}

function isCall(part: unknown): boolean {
  return fields(part).functionCall !== undefined;
}

function isSigned(part: unknown): boolean {
  return Boolean(stringField(fields(part).thoughtSignature));
}

function signParts(parts: readonly unknown[]): readonly unknown[] | undefined {
  const first = parts.findIndex(isCall);
  if (first === -1) return undefined;
  const firstSignature = stringField(fields(parts[first]).thoughtSignature);
  const isCopied = (part: unknown, index: number): boolean => {
    const signature = stringField(fields(part).thoughtSignature) ?? "";
    return (
      index !== first &&
      isCall(part) &&
      (NO_SIGNATURES.includes(signature) || (signature !== "" && signature === firstSignature))
    );
  };
  if (isSigned(parts[first]) && !parts.some(isCopied)) return undefined;
  return parts.map((part, index) => {
    if (index === first && !isSigned(part)) return { ...fields(part), thoughtSignature: NO_SIGNATURE };
    return isCopied(part, index) ? withoutSignature(fields(part)) : part;
  });
}

/** A part without its signature, which holds for nothing but what it came with. */
export function withoutSignature(part: Fields): Fields {
  const { thoughtSignature: _, ...rest } = part;
  return rest;
}
