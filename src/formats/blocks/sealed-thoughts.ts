import { asObject, asString } from "../../text/unknown-value.ts";
import type { ReasoningPart } from "../../transcript/part.ts";

/** A thought. `sealed` is the form of it that its provider reads when it is sent again, such as a signature. */
export function reasoningPart(text: string, sealed: unknown): ReasoningPart {
  return {
    type: "reasoning",
    text,
    ...(typeof sealed === "string" && sealed !== "" && { sealedChars: sealed.length }),
  };
}

/** The sealed form of a thought among what an SDK keeps for its providers, each under a name of its own. */
export function sealedForm(providers: unknown): string | undefined {
  for (const each of Object.values(asObject(providers))) {
    const { signature, redactedData } = asObject(each);
    const sealed = asString(signature) ?? asString(redactedData);
    if (sealed !== undefined) return sealed;
  }
  return undefined;
}
