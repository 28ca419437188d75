import type { Message } from "../../../../transcript/message.ts";
import type { ServedSession } from "../../view/live.ts";
import { followEvents } from "./follow-events.ts";
import type { LoadedSession, LoadProgress } from "./loaded-session.ts";

/** The session from the server, page by page. The token of the address works once and is gone from the address after. */
export async function fetchSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const headers = { authorization: `Bearer ${await exchangeToken()}` };
  const get = async <Answer>(path: string): Promise<Answer> => {
    const response = await fetch(path, { headers });
    if (!response.ok) throw new Error(`The server answered ${response.status} to ${path}.`);
    return (await response.json()) as Answer;
  };
  const { messages: totalMessages, live, ...head } = await get<ServedSession>("/api/session");
  const transcript: Message[] = [];
  while (transcript.length < totalMessages) {
    onProgress({ doneMessages: transcript.length, totalMessages });
    const path = `/api/messages?from=${transcript.length}&count=${PAGE_MESSAGES}`;
    const { messages } = await get<{ readonly messages: readonly Message[] }>(path);
    if (messages.length === 0) break;
    for (const message of messages) transcript.push(message);
  }
  const session = { ...head, transcript };
  return live === undefined ? { session } : { session, follow: followEvents(headers, live.revision) };
}

const PAGE_MESSAGES = 200;

async function exchangeToken(): Promise<string> {
  const oneTimeToken = new URLSearchParams(location.hash.slice(1)).get("t");
  if (oneTimeToken === null) throw new Error(`This address has no token. ${AGAIN}`);
  history.replaceState(null, "", location.pathname);
  const response = await fetch("/api/token", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: oneTimeToken }),
  });
  if (!response.ok) throw new Error(`This address was used before, or its server is gone. ${AGAIN}`);
  const { token } = (await response.json()) as { readonly token: string };
  return token;
}

const AGAIN =
  "Every address works once. Press Enter in the terminal for another, or run carryover inspect --open again.";
