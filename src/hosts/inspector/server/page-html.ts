import { createHash } from "node:crypto";
import { TRUSTED_NAME } from "../page/engine/trusted-name.ts";
import type { InspectedSession } from "../view/types.ts";
import type { PageAssets } from "./page-assets.ts";

/** The served page: a frame without a word of the session, which the script fetches. */
export const PAGE_SHELL: string = html({
  head: '<link rel="stylesheet" href="/app.css">',
  body: '<script src="/app.js"></script>',
});

/** The whole page with its session in one file, which asks nobody for anything and runs nothing but its own script. */
export function singleFile(session: InspectedSession, assets: PageAssets): string {
  // Both ways of ending a script early are only ever found inside strings, where a backslash changes nothing.
  const script = assets.script.replace(/<(?=\/script|!--)/gi, "\\x3c");
  const style = assets.style.replace(/<(?=\/style)/gi, "\\3c ");
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    // A file has no origin of its own that a worker's script could come from.
    "worker-src blob:",
    `style-src '${hashOf(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${TRUSTED_NAME}`,
  ].join("; ");
  return html({
    head: `<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${style}</style>`,
    body: `<script type="application/json" id="carryover-data">${jsonBlock({ session })}</script>
<script>${script}</script>`,
  });
}

/** JSON in which nothing can end the block that it stands in, whatever the session says. */
export function jsonBlock(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

interface Html {
  readonly head: string;
  readonly body: string;
}

function html({ head, body }: Html): string {
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
