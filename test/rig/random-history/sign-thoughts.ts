import { asArray, asObject, type UnknownObject } from "../../../src/text/json.ts";
import { type Account, createThinkingCheck } from "../bound-thinking/bound-thinking.ts";

/** A request to Claude whose thoughts are bound to what stands before them, and who can say whether they still are. */
export interface SignedRequest {
  readonly wire: UnknownObject;
  /** What the provider says against the thoughts of a request; undefined where it takes them. */
  findRefusal(request: unknown): string | undefined;
}

/** Signs the thoughts of a request, as if each answer had been given to what stands before it. */
export function signThoughts(request: UnknownObject, account: Account): SignedRequest {
  const check = createThinkingCheck({ account });
  const messages: unknown[] = [];
  for (const message of asArray(request.messages).map(asObject)) {
    const seen = check.read({ ...request, messages });
    if (seen.status === 400) throw new Error(seen.error.error.message);
    const isAnswer = message.role === "assistant";
    const content = isAnswer ? check.sign(seen, asArray(message.content).map(asObject)) : message.content;
    messages.push({ ...message, content });
  }
  return {
    wire: { ...request, messages },
    findRefusal(given) {
      const read = check.read(asObject(given));
      return read.status === 400 ? read.error.error.message : undefined;
    },
  };
}
