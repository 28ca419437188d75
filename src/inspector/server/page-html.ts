import { createHash } from "node:crypto";
import { isObject } from "../../text/unknown-value.ts";
import { DATA_BLOCK_ID, TRUSTED_TYPES_POLICY } from "../view/protocol.ts";
import type { InspectedSession } from "../view/types.ts";
import type { PageAssets } from "./page-assets.ts";

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
    // A local file has no origin to load a worker from, so the worker's script is a blob.
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

/** Cannot occur in style or script. */
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
