import { createRedactor } from "../../stages/redact.ts";
import type { Transcript } from "../../transcript/message.ts";
import { modelWindowOf } from "../../transcript/model-window.ts";
import type { InspectedSession } from "./types.ts";

/** What the page gets of a session; secrets are redacted unless asked for. */
export function createInspectedSession(
  { window: given, ...read }: ReadSession,
  secrets: SecretsChoice,
): InspectedSession {
  const window = given ?? modelWindowOf(read.transcript, { rows: read.models });
  const model = modelName(read.transcript);
  const session: InspectedSession = {
    ...read,
    ...(model !== undefined && { model }),
    windowTokens: window.tokens,
    windowKnown: window.isKnown,
    redactedSecrets: 0,
  };
  return secrets === "redacted" ? redactSession(session) : session;
}

/** A session as it was read from its file or database. */
interface ReadSession
  extends Pick<
    InspectedSession,
    | "name"
    | "title"
    | "format"
    | "sessionId"
    | "workingDirectory"
    | "transcript"
    | "problems"
    | "cost"
    | "models"
  > {
  /** The model's window; by its name when unset. */
  readonly window?: ReturnType<typeof modelWindowOf>;
}

/** A window that the user named. */
export function givenWindow(tokens: number): NonNullable<ReadSession["window"]> {
  return { tokens, isKnown: true };
}

export type SecretsChoice = "redacted" | "shown";

/** The model of the newest message that names one, as `provider/id`. */
export function modelName(transcript: Transcript): string | undefined {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return model && `${model.provider}/${model.id}`;
}

/** A session without secrets in anything that a person could read of it: messages, title, paths and problems. */
function redactSession(session: InspectedSession): InspectedSession {
  const { text, message, found } = createRedactor();
  const { title, workingDirectory, cost } = session;
  return {
    ...session,
    name: text(session.name),
    ...(cost && {
      cost: { ...cost, misses: cost.misses.map((found) => ({ ...found, detail: text(found.detail) })) },
    }),
    ...(title !== undefined && { title: text(title) }),
    ...(workingDirectory !== undefined && { workingDirectory: text(workingDirectory) }),
    problems: session.problems.map((problem) => text(problem)),
    transcript: session.transcript.map(message),
    redactedSecrets: countSecrets(found),
  };
}

/** How many secrets of all types were replaced. */
export function countSecrets(found: ReadonlyMap<string, number>): number {
  return [...found.values()].reduce((sum, count) => sum + count, 0);
}
