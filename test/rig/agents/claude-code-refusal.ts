import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import { isThought } from "../bound-thinking/bound-thinking.ts";

/**
 * True for the one request with a thought that does not fit which Claude Code sends by itself, with us and without (2.1.325):
 * behind the summary of its own compaction it keeps its last answer with the thoughts in it. It is refused, and asks again
 * at once without them. What is said to differ is `system`, since that begins with a hash of the first message
 * (`x-anthropic-billing-header: cc_version=2.1.325.f16`), which is the summary now; nothing of ours is in it.
 */
export function isClaudeCodesOwnRefusal({ body }: { readonly body: UnknownObject }): boolean {
  const messages = asArray(body.messages).map(asObject);
  const answers = messages.filter(({ role }) => role === "assistant");
  const isSummary = JSON.stringify(messages[0]?.content ?? "").includes(CONTINUED);
  return (
    isSummary && answers.filter(({ content }) => asArray(content).map(asObject).some(isThought)).length === 1
  );
}

const CONTINUED = "This session is being continued from a previous conversation";
