import type { Answer, ScriptedCall, Step } from "./step.ts";

/** A step in which the model answers with a text. */
export function say(text: string, fields: StepFields = {}): Step {
  return answerStep({ text }, fields);
}

/** A step in which the model calls one tool. */
export function call(tool: string, input: unknown, fields: StepFields = {}): Step {
  return answerStep({ calls: [{ tool, input }] }, fields);
}

/** A step in which the model calls several tools at once. */
export function callAll(calls: readonly ScriptedCall[], fields: StepFields = {}): Step {
  return answerStep({ calls }, fields);
}

/** A step in which the provider refuses the request because it is too long. */
export function refuseLength(fields: Omit<Step, "reply"> = {}): Step {
  const message = "This model's maximum context length is 8000 tokens. Your messages came to 9001 tokens.";
  const error = { message, type: "invalid_request_error", code: "context_length_exceeded" };
  return { ...fields, reply: { type: "refusal", status: 400, body: { error } } };
}

/** A step in which the provider accepts the request and says in the stream that it is too long. */
export function refuseLengthInStream(fields: Omit<Step, "reply"> = {}): Step {
  const message = "prompt is too long: 9001 tokens > 8000 maximum";
  const error = { type: "invalid_request_error", code: "context_length_exceeded", message };
  return { ...fields, reply: { type: "stream-error", error } };
}

/** A step in which the provider refuses the request for good, for any other reason. */
export function refuse(message: string, fields: Omit<Step, "reply"> = {}): Step {
  const error = { message, type: "invalid_request_error" };
  return { ...fields, reply: { type: "refusal", status: 400, body: { error } } };
}

/** Everything else a step or its answer may say. */
export type StepFields = Omit<Step, "reply"> & Omit<Answer, "type">;

function answerStep(answer: Omit<Answer, "type">, fields: StepFields): Step {
  const { lane, sessionId, family, contains, times, ...rest } = fields;
  return {
    ...(lane === undefined ? {} : { lane }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(family === undefined ? {} : { family }),
    ...(contains === undefined ? {} : { contains }),
    ...(times === undefined ? {} : { times }),
    reply: { type: "answer", ...answer, ...rest },
  };
}
