import { connect } from "node:net";
import type { PageAssets } from "../../src/inspector/server/page-assets.ts";
import type { ServedInspector } from "../../src/inspector/server/serve-inspector.ts";
import type { InspectedSession } from "../../src/inspector/view/types.ts";
import type { Message } from "../../src/transcript/message.ts";

/** Stands in for the built page where only the server is looked at. */
export const FAKE_ASSETS: PageAssets = { script: 'document.title = "here";', style: "body { margin: 0 }" };

/** A session of that many short messages. */
export function sessionOf(messageCount: number): InspectedSession {
  return {
    name: "session.json",
    title: "A session",
    format: "opencode",
    sessionId: "ses_1",
    windowTokens: 200_000,
    windowKnown: false,
    transcript: Array.from({ length: messageCount }, (_, index): Message => messageOf(index)),
    redactedSecrets: 0,
    problems: [],
  };
}

export function messageOf(index: number, text = `message ${index}`): Message {
  return { id: `m${index}`, role: index % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends bytes over a socket as they are, and gives what comes back until the other side closes. */
export function sendRaw(port: number, bytes: string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", (error) => (chunks.length > 0 ? socket.emit("close") : reject(error)));
    socket.on("close", () => resolve(parseAnswer(Buffer.concat(chunks).toString("utf8"))));
  });
}

function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "").split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(first.split(" ")[1]), headers: new Map(headers), body: rest.join("\r\n\r\n") };
}

/** The one-time token of an address. */
export function tokenOf(address: string): string {
  return new URL(address).hash.slice("#t=".length);
}

/** Swaps a one-time token as the page does. */
export async function enter(inspector: ServedInspector, oneTimeToken: string): Promise<string> {
  const response = await fetch(`${inspector.origin}/api/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: oneTimeToken }),
  });
  return ((await response.json()) as { readonly token: string }).token;
}

/** Asks as the page does. */
export function ask(inspector: ServedInspector, token: string, path: string): Promise<Response> {
  return fetch(inspector.origin + path, { headers: { authorization: `Bearer ${token}` } });
}
