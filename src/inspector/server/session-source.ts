import { createRedactor } from "../../stages/redact.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { LiveEvent, SessionHead } from "../view/protocol.ts";
import type { InspectedSession } from "../view/types.ts";

/** Port: where the server gets its session from, already redacted. */
export interface SessionSource {
  head(): SessionHead;
  transcript(): Transcript;
  /** Set for a running session that is followed. */
  readonly live?: LiveSource;
}

export interface LiveSource {
  /** Increases whenever a message changes. */
  revision(): number;
  /** Sends what happened since that revision, then every event until the returned function is called. */
  listen(listener: (event: LiveEvent) => void, sinceRevision: number): () => void;
}

/** A session that does not change, such as one read from a file. */
export function createFixedSource({ transcript, ...head }: InspectedSession): SessionSource {
  return { head: () => head, transcript: () => transcript };
}

/** What the page gets of a session; secrets are redacted unless asked for. */
export function createInspectedSession(
  { windowTokens, ...read }: ReadSession,
  secrets: SecretsChoice,
): InspectedSession {
  const model = modelName(read.transcript);
  const session: InspectedSession = {
    ...read,
    ...(model !== undefined && { model }),
    windowTokens: windowTokens ?? DEFAULT_WINDOW_TOKENS,
    windowKnown: windowTokens !== undefined,
    redactedSecrets: 0,
  };
  return secrets === "redacted" ? redactSession(session) : session;
}

/** A session as it was read from its file or database. */
interface ReadSession
  extends Pick<
    InspectedSession,
    "name" | "title" | "format" | "sessionId" | "workingDirectory" | "transcript" | "problems"
  > {
  /** The model's window, where it is known. */
  readonly windowTokens?: number;
}

export type SecretsChoice = "redacted" | "shown";

const DEFAULT_WINDOW_TOKENS = 200_000;

/** The model of the newest message that names one, as `provider/id`. */
export function modelName(transcript: Transcript): string | undefined {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return model && `${model.provider}/${model.id}`;
}

/** A session without secrets in anything that a person could read of it: messages, title, paths and problems. */
export function redactSession(session: InspectedSession): InspectedSession {
  const { text, message, found } = createRedactor();
  const { title, workingDirectory } = session;
  return {
    ...session,
    name: text(session.name),
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
