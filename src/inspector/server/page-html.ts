import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { DATA_BLOCK_ID, TRUSTED_TYPES_POLICY } from "../view/protocol.ts";
import type { InspectedSession } from "../view/types.ts";

/** The served page: it contains nothing of the session, which its script fetches. */
export const PAGE_SHELL: string = html({
  head: '<link rel="stylesheet" href="/app.css">',
  body: '<script src="/app.js"></script>',
});

/** The page with its session in one file: it makes no request, and its policy allows no script but its own. */
export function renderSingleFile(session: InspectedSession, assets: PageAssets): string {
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
  return html({
    head: `<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${style}</style>`,
    body: `<script type="application/json" id="${DATA_BLOCK_ID}">${escapeJsonForHtml({ session })}</script>
<script>${script}</script>`,
  });
}

/** JSON that cannot end the script element in which it stands. */
export function escapeJsonForHtml(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

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
  import.meta.url.endsWith("/page-html.ts")
    ? ["../../../dist/inspector/"]
    : ["./inspector/", "../dist/inspector/"]
).map((place) => new URL(place, import.meta.url));
