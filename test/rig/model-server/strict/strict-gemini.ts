import { asArray, asObject, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import { signatureOf } from "../gemini-wire.ts";
import { sealOf } from "../wire.ts";

/** What Google's Gemini API says to contents that it does not take; undefined for those that it takes. */
export function findGeminiRefusal(
  body: Readonly<Record<string, unknown>>,
  model: string,
): string | undefined {
  const contents = asArray(body.contents).map(readContent);
  if (contents.length === 0) return "* GenerateContentRequest.contents: contents is not specified\n";
  for (const index of contents.keys()) {
    const found =
      shapeRefusal(contents, index) ?? orderRefusal(contents, index) ?? sealRefusal(contents, index);
    if (found !== undefined) return found;
  }
  if (contents[0]?.role === "model") return "Please ensure that multiturn requests start with a user role.";
  if (contents.at(-1)?.role === "model")
    return "Please ensure that multiturn requests ends with a user role or a function response.";
  return /gemini-3/.test(model) ? signatureRefusal(contents) : undefined;
}

/** What is said where the first call of a step of the current turn has no signature. */
export function findMissingSignature({ contents }: UnknownObject): string | undefined {
  return signatureRefusal(asArray(contents).map(readContent));
}

interface Content {
  readonly role: unknown;
  readonly parts: readonly UnknownObject[];
  readonly calls: readonly UnknownObject[];
  readonly responses: readonly UnknownObject[];
}

function readContent(value: unknown): Content {
  const { role = "user", parts: list } = asObject(value);
  const parts = asArray(list).map(asObject);
  return {
    role,
    parts,
    calls: parts.filter(({ functionCall }) => functionCall !== undefined),
    responses: parts.filter(({ functionResponse }) => functionResponse !== undefined),
  };
}

function shapeRefusal(contents: readonly Content[], index: number): string | undefined {
  const { role, parts } = contents[index] as Content;
  if (role !== "user" && role !== "model") return "Please use a valid role: user, model.";
  if (parts.length === 0)
    return `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`;
  if (parts.some((part) => Object.keys(part).every((key) => key === "thoughtSignature" || key === "thought")))
    return `* GenerateContentRequest.contents[${index}].parts[0].data: required oneof field 'data' must have one initialized field\n`;
  return undefined;
}

function orderRefusal(contents: readonly Content[], index: number): string | undefined {
  const { role, calls, responses } = contents[index] as Content;
  const before = contents[index - 1];
  if (calls.length > 0 && (before === undefined || before.role === "model"))
    return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  if (role === "model" && before?.role === "model")
    return "Please ensure that multiturn requests alternate between user and model.";
  if (responses.length > 0 && (before?.calls.length ?? 0) === 0)
    return "Please ensure that function response turn comes immediately after a function call turn.";
  const answers = contents[index + 1]?.responses ?? [];
  const names = (parts: readonly UnknownObject[], field: string) =>
    parts
      .map((part) => String(asObject(part[field]).name))
      .toSorted()
      .join();
  const isAnswered =
    answers.length === calls.length && names(answers, "functionResponse") === names(calls, "functionCall");
  if (calls.length > 0 && !isAnswered)
    return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
  return undefined;
}

/** A signature holds for the part that it came on, and for the arguments that it had. */
function sealRefusal(contents: readonly Content[], index: number): string | undefined {
  const { parts } = contents[index] as Content;
  const isForged = parts.some(({ thoughtSignature, ...part }) => {
    if (thoughtSignature === undefined || thoughtSignature === SKIP) return false;
    const { functionCall } = part;
    const seal = functionCall === undefined ? sealOf(inOrder(part)) : signatureOf(asObject(functionCall));
    return thoughtSignature !== seal;
  });
  if (isForged) return "Thought signature is not valid.";
  const open = parts
    .filter(({ toolCall }) => toolCall !== undefined)
    .map(({ toolCall }) => asObject(toolCall).id);
  const closed = parts
    .filter(({ toolResponse }) => toolResponse !== undefined)
    .map(({ toolResponse }) => asObject(toolResponse).id);
  return open.join() === closed.join()
    ? undefined
    : "Please ensure that every toolCall part is followed by its toolResponse part.";
}

const SKIP = "skip_thought_signature_validator";

/** The fields of a search as the model wrote them, whatever order the client gives them. */
function inOrder(part: UnknownObject): UnknownObject {
  const key = "toolCall" in part ? "toolCall" : "toolResponse";
  const { toolType, id, args, response } = asObject(part[key]);
  return { [key]: key === "toolCall" ? { toolType, id, args } : { toolType, id, response } };
}

/** In the current turn the first call of each step is signed. */
function signatureRefusal(contents: readonly Content[]): string | undefined {
  const start = contents.findLastIndex(
    ({ role, parts }) => role === "user" && parts.some(({ text }) => text !== undefined),
  );
  for (const [index, { calls }] of contents.entries()) {
    const [first] = calls;
    if (index <= start || first === undefined || first.thoughtSignature !== undefined) continue;
    const name = String(asObject(first.functionCall).name);
    return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index}.`;
  }
  return undefined;
}
