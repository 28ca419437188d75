import type { Transcript } from "../../../transcript/message.ts";
import type { InspectedSession } from "../view/types.ts";
import { redactSession } from "./redact-session.ts";

/** What the page is given of a session, without its secrets unless they are asked for. */
export function inspectedSession(
  { windowTokens, ...read }: ReadSession,
  secrets: SecretsChoice,
): InspectedSession {
  const model = modelOf(read.transcript);
  const session: InspectedSession = {
    ...read,
    ...(model !== undefined && { model }),
    windowTokens: windowTokens ?? DEFAULT_WINDOW_TOKENS,
    windowKnown: windowTokens !== undefined,
    redactedSecrets: 0,
  };
  return secrets === "redacted" ? redactSession(session) : session;
}

/** A session as it was read from wherever it lies. */
export interface ReadSession
  extends Pick<
    InspectedSession,
    "name" | "title" | "format" | "sessionId" | "workingDirectory" | "transcript" | "problems"
  > {
  /** The window of its model, where somebody said it. */
  readonly windowTokens?: number;
}

export type SecretsChoice = "redacted" | "shown";

const DEFAULT_WINDOW_TOKENS = 200_000;

function modelOf(transcript: Transcript): string | undefined {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return model && `${model.provider}/${model.id}`;
}
