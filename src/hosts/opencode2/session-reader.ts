import { asArray, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import type { SetupContext } from "./abilities.ts";
import { textOfContent } from "./messages.ts";
import type { ContextEvent } from "./requests.ts";

/** Reads the messages of a session, as the host would send them now. */
export interface SessionReader {
  read(sessionId: string): Promise<readonly UnknownObject[]>;
  /** True for a request that is only there to be read: it must go no further. */
  takes(event: Pick<ContextEvent, "messages">): boolean;
  /** The same of one that would go out without having been shown to us, as GA may do it; untried there. */
  leaks(request: Request): Promise<boolean>;
}

/**
 * The context has no call that reads messages. `generate` prepares a request of the whole conversation, shows it to our
 * `context` hook, and sends it: the hook takes the messages and ends it there, so nothing is sent and nothing is stored. It
 * works for sessions at rest, at work (up to the answer that is being made), and of an earlier start of the program; the host
 * logs nothing of it.
 */
export function createSessionReader({ session }: Pick<SetupContext, "session">): SessionReader {
  /** Undefined until it was shown to us. */
  const taken = new Map<string, readonly UnknownObject[] | undefined>();
  let reads = 0;
  return {
    async read(sessionId) {
      reads += 1;
      const marker = `${MARKER} ${process.pid}.${reads}`;
      taken.set(marker, undefined);
      const [failure] = await Promise.allSettled([
        session.generate({ sessionID: sessionId, prompt: marker }),
      ]);
      const messages = taken.get(marker);
      taken.delete(marker);
      if (messages === undefined)
        throw failure.status === "rejected" ? failure.reason : new Error("it was not shown to us");
      return messages;
    },
    takes({ messages }) {
      const marker = markerIn(messages);
      if (marker === undefined) return false;
      // One of another instance of the plugin is not ours to keep, and goes no further either.
      if (taken.has(marker)) taken.set(marker, asArray(messages).slice(0, -1).map(asObject));
      return true;
    },
    async leaks(request) {
      if (taken.size === 0 || request.body === null) return false;
      const text = await request.clone().text();
      return [...taken.keys()].some((marker) => text.includes(marker));
    },
  };
}

/** The marker of a request that is only there to be read; a message that cannot be read has none. */
function markerIn(messages: readonly unknown[]): string | undefined {
  try {
    const { role, content } = asObject(messages.at(-1));
    const text = role === "user" ? textOfContent(content) : "";
    return text.startsWith(MARKER) ? text : undefined;
  } catch {
    return undefined;
  }
}

const MARKER = "carryover reads this session, and nothing is sent:";

/** Ends a request that was only there to be read. */
export class ReadOnly extends Error {
  constructor() {
    super(TAKEN);
  }
}

const TAKEN = "carryover has read the session; nothing was sent";
