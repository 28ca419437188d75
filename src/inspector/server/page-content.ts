import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRedactor } from "../../stages/redact.ts";
import { isObject } from "../../text/unknown-value.ts";
import type { Transcript } from "../../transcript/message.ts";
import { windowOfTranscript } from "../../transcript/transcript-window.ts";
import { DATA_BLOCK_ID, type LiveEvent, type SessionHead, TRUSTED_TYPES_POLICY } from "../view/protocol.ts";
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
  { window: given, ...read }: ReadSession,
  secrets: SecretsChoice,
): InspectedSession {
  const window = given ?? windowOfTranscript(read.transcript, { rows: read.models });
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
  readonly window?: ReturnType<typeof windowOfTranscript>;
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
export function redactSession(session: InspectedSession): InspectedSession {
  const { text, message, found } = createRedactor();
  const { title, workingDirectory, cost } = session;
  return {
    ...session,
    name: text(session.name),
    ...(cost && {
      cost: { ...cost, breaks: cost.breaks.map((found) => ({ ...found, detail: text(found.detail) })) },
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

/** The served page: it contains nothing of the session, which its script fetches. */
export const PAGE_SHELL: string = html({
  head: '<link rel="stylesheet" href="/app.css">',
  body: '<script src="/app.js"></script>',
});

/**
 * The page with its session in one file, piece by piece: it makes no request, and its policy allows no script but its
 * own.
 */
export function* renderSingleFile(session: InspectedSession, assets: PageAssets): Generator<string> {
  // In built code these sequences occur only inside strings, where the escape means the same.
  const script = assets.script.replace(/<(?=\/script|!--)/gi, "\\x3c");
  const style = assets.style.replace(/<(?=\/style)/gi, "\\3c ");
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    // A file has no origin to load a worker from: the worker's script comes from a blob.
    "worker-src blob:",
    `style-src '${hashOf(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${TRUSTED_TYPES_POLICY}`,
  ].join("; ");
  const [before = "", after = ""] = html({
    head: `<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${style}</style>`,
    body: `<script type="application/json" id="${DATA_BLOCK_ID}">${SESSION_PLACE}</script>
<script>${script}</script>`,
  }).split(SESSION_PLACE);
  yield before;
  yield* escapeJsonForHtml({ session });
  yield after;
}

/** No style and no script has it. */
const SESSION_PLACE = "\0session\0";

/** JSON that cannot end the script element in which it stands, piece by piece. */
export function* escapeJsonForHtml(value: unknown): Generator<string> {
  for (const piece of jsonPieces(value))
    yield piece.replace(
      /[<>&\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

/** The JSON of a value, a few entries of a long list at a time. */
function* jsonPieces(value: unknown): Generator<string> {
  if (Array.isArray(value) && value.length > PIECE_ENTRIES) {
    for (let start = 0; start < value.length; start += PIECE_ENTRIES) {
      const list = JSON.stringify(value.slice(start, start + PIECE_ENTRIES));
      yield `${start === 0 ? "[" : ","}${list.slice(1, -1)}`;
    }
    yield "]";
  } else if (isObject(value)) {
    let before = "{";
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonPieces(field);
      before = ",";
    }
    yield before === "{" ? "{}" : "}";
  } else yield JSON.stringify(value);
}

const PIECE_ENTRIES = 200;

function html({ head, body }: { readonly head: string; readonly body: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${head}
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Carryover</title>
</head>
<body>
<div id="app"></div>
${body}
</body>
</html>
`;
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** The page's built script and stylesheet. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** Reads the built page: beside the command line's bundle, or from the project's dist when this runs from source. */
export async function readPageAssets(places: readonly URL[] = PLACES): Promise<PageAssets> {
  for (const place of places) {
    try {
      const [script, style] = await Promise.all(
        ["app.js", "app.css"].map((name) => readFile(new URL(name, place), "utf8")),
      );
      if (script !== undefined && style !== undefined) return { script, style };
    } catch {
      // Not built there.
    }
  }
  throw new Error("The page is not there: it was not built (`npm run build` makes dist/inspector)");
}

/** Only places inside the package: the script found there is run. */
const PLACES: readonly URL[] = (
  import.meta.url.endsWith("/page-content.ts")
    ? ["../../../dist/inspector/"]
    : ["../inspector/", "../dist/inspector/"]
).map((place) => new URL(place, import.meta.url));
