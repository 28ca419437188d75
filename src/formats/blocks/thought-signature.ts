import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/**
 * True for the options of a call under whichever provider they hold a thought signature. Gemini signs the first of
 * parallel calls for all of them, and refuses a step of the running turn without its signature.
 */
export function hasThoughtSignature(providerOptions: unknown): boolean {
  return Object.values(asObject(providerOptions)).some(isSigned);
}

/** The same options with the stand-in for every signature: a signature is valid only for the call as it was. */
export function withStandIn(providerOptions: unknown): UnknownObject {
  return Object.fromEntries(
    Object.entries(asObject(providerOptions)).map(([provider, options]) => [
      provider,
      isSigned(options) ? { ...asObject(options), thoughtSignature: NO_SIGNATURE } : options,
    ]),
  );
}

/** True for an object that holds a thought signature. */
export function isSigned(value: unknown): boolean {
  return Boolean(asString(asObject(value).thoughtSignature));
}

/** What Google documents to send on a call that has no valid signature. */
export const NO_SIGNATURE = "skip_thought_signature_validator";

/** All texts that Google takes in place of a signature. */
export const NO_SIGNATURES: readonly string[] = [NO_SIGNATURE, "context_engineering_is_the_way_to_go"];
