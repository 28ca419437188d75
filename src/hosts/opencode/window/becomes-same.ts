import { type Fields, fields } from "../../../formats/fields.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { sameValue } from "../../../session/same-value.ts";

/**
 * True only when two messages of the host become the same message of a transcript. Looks at what is read of them and at
 * nothing else: this runs over a whole conversation before every request.
 */
export function becomesSame(one: SessionMessage, other: SessionMessage): boolean {
  const { length } = one.parts;
  if (!Array.isArray(other.parts) || other.parts.length !== length) return false;
  if (!isSameInfo(fields(one.info), fields(other.info))) return false;
  for (let index = 0; index < length; index++) {
    if (!isSamePart(fields(one.parts[index]), fields(other.parts[index]))) return false;
  }
  return true;
}

function isSameInfo(one: Fields, other: Fields): boolean {
  return (
    one.id === other.id &&
    one.role === other.role &&
    one.finish === other.finish &&
    one.parentID === other.parentID &&
    one.providerID === other.providerID &&
    one.modelID === other.modelID &&
    // A user's message has all its diffs there, which nobody reads.
    (one.summary === true) === (other.summary === true) &&
    fields(one.time).created === fields(other.time).created &&
    isSameUsage(one.tokens, other.tokens) &&
    isSameModel(fields(one.model), fields(other.model)) &&
    sameValue(one.error, other.error) &&
    sameValue(one.metadata, other.metadata)
  );
}

function isSameUsage(tokensOfOne: unknown, tokensOfOther: unknown): boolean {
  if (typeof tokensOfOne !== typeof tokensOfOther) return false;
  const [one, other] = [fields(tokensOfOne), fields(tokensOfOther)];
  const [cache, otherCache] = [fields(one.cache), fields(other.cache)];
  return (
    (tokensOfOne === null) === (tokensOfOther === null) &&
    one.total === other.total &&
    one.input === other.input &&
    one.output === other.output &&
    one.reasoning === other.reasoning &&
    cache.read === otherCache.read &&
    cache.write === otherCache.write
  );
}

function isSameModel(one: Fields, other: Fields): boolean {
  return one.providerID === other.providerID && one.modelID === other.modelID;
}

function isSamePart(one: Fields, other: Fields): boolean {
  if (one.type !== other.type) return false;
  switch (one.type) {
    case "text":
    case "reasoning":
      return (
        one.text === other.text &&
        one.synthetic === other.synthetic &&
        one.ignored === other.ignored &&
        sameValue(one.metadata, other.metadata)
      );
    case "tool":
      return one.callID === other.callID && one.tool === other.tool && isSameState(one.state, other.state);
    case "step-start":
    case "step-finish":
      // Only that they are there is read of these two, which stand around every step.
      return true;
    default:
      return sameValue(one, other);
  }
}

function isSameState(stateOfOne: unknown, stateOfOther: unknown): boolean {
  const [one, other] = [fields(stateOfOne), fields(stateOfOther)];
  return (
    one.status === other.status &&
    one.output === other.output &&
    one.error === other.error &&
    isSameInput(one.input, other.input) &&
    fields(one.time).compacted === fields(other.time).compacted &&
    sameValue(one.attachments, other.attachments) &&
    isSameNote(fields(one.metadata), fields(other.metadata))
  );
}

/** Most inputs are a few words by name. */
function isSameInput(one: unknown, other: unknown): boolean {
  const [values, others] = [fields(one), fields(other)];
  let names = 0;
  for (const name in values) {
    if (typeof values[name] !== "string" || values[name] !== others[name]) return sameValue(one, other);
    names += 1;
  }
  for (const _ in others) names -= 1;
  return names === 0 && Array.isArray(one) === Array.isArray(other) && typeof one === typeof other;
}

/** Tools keep much in their metadata; what an edit of ours left there is read, and what a stopped call had printed. */
function isSameNote(one: Fields, other: Fields): boolean {
  return (
    one.interrupted === other.interrupted &&
    (one.interrupted !== true || one.output === other.output) &&
    sameValue(one.carryover, other.carryover)
  );
}
