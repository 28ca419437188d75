import { sameValue } from "../../../../session/same-value.ts";
import type { Message, Transcript } from "../../../../transcript/message.ts";
import type { MessagesEvent } from "../../view/live.ts";
import type { SecretsChoice } from "../inspected-session.ts";
import { createRedaction } from "../redact-session.ts";

/** The messages as the page has them, and since when each is as it is. */
export interface ShownMessages {
  /** Takes what the session is now. True when anything is different. */
  take(transcript: Transcript): boolean;
  transcript(): Transcript;
  revision(): number;
  redactedSecrets(): number;
  /** What somebody who knows that revision has missed, in pieces. */
  changesSince(revision: number): readonly MessagesEvent[];
}

/** No messages yet. Each is redacted once, when it has changed. */
export function createShownMessages(secrets: SecretsChoice): ShownMessages {
  let shown: readonly Shown[] = [];
  let revision = 0;
  return {
    take(transcript) {
      const next = revision + 1;
      const isSame = (message: Message, index: number): boolean => sameValue(shown[index]?.source, message);
      const taken = transcript.map((message, index) =>
        isSame(message, index) ? (shown[index] as Shown) : show(message, { secrets, revision: next }),
      );
      const isChanged = taken.length !== shown.length || taken.some((item) => item.revision === next);
      shown = taken;
      if (isChanged) revision = next;
      return isChanged;
    },
    transcript: () => shown.map(({ message }) => message),
    revision: () => revision,
    redactedSecrets: () => shown.reduce((total, { redactedSecrets }) => total + redactedSecrets, 0),
    changesSince(known) {
      const changes = shown.flatMap((item, index) =>
        item.revision > known ? [{ index, message: item.message }] : [],
      );
      const events: MessagesEvent[] = [];
      for (let start = 0; start === 0 || start < changes.length; start += MAX_CHANGES) {
        const piece = changes.slice(start, start + MAX_CHANGES);
        // Whoever loses the connection in between gets the rest again.
        const isLast = start + MAX_CHANGES >= changes.length;
        const upTo = isLast ? revision : Math.min(known, revision);
        events.push({ type: "messages", revision: upTo, count: shown.length, changes: piece });
      }
      return events;
    },
  };
}

/** Few in one event, so that no line of the stream is endless. */
const MAX_CHANGES = 50;

interface Shown {
  /** As it was read, to see a change. */
  readonly source: Message;
  readonly message: Message;
  readonly revision: number;
  readonly redactedSecrets: number;
}

interface ShowOptions {
  readonly secrets: SecretsChoice;
  readonly revision: number;
}

function show(source: Message, { secrets, revision }: ShowOptions): Shown {
  if (secrets === "shown") return { source, message: source, revision, redactedSecrets: 0 };
  const redaction = createRedaction();
  const message = redaction.message(source);
  return { source, message, revision, redactedSecrets: redaction.count() };
}
