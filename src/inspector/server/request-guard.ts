import { TRUSTED_TYPES_POLICY } from "../view/protocol.ts";

/** Checks the head of a request against everything but tokens; undefined when it may go on to its route. */
export function checkRequest(request: RequestHead, ownPort: number): Refusal | undefined {
  const [host, ...moreHosts] = valuesOf(request, "host");
  // DNS rebinding: another site's name that resolves to this machine.
  if (host === undefined || moreHosts.length > 0 || !isOwnHost(host, ownPort))
    return { status: 403, reason: "not this host" };
  if (valuesOf(request, "origin").some((origin) => origin !== `http://${host}`))
    return { status: 403, reason: "another origin" };
  if (valuesOf(request, "sec-fetch-site").some((site) => site !== "same-origin" && site !== "none"))
    return { status: 403, reason: "asked by another site" };
  if (!request.target.startsWith("/") || request.target.length > MAX_TARGET_CHARS)
    return { status: 400, reason: "no path" };
  if (valuesOf(request, "upgrade").length > 0) return { status: 400, reason: "nothing to upgrade to" };
  if (declaredBytes(request) > MAX_BODY_BYTES) return { status: 413, reason: "too long" };
  const isWrite = request.target === TOKEN_PATH;
  const methods = isWrite ? ["POST"] : ["GET", "HEAD"];
  if (!methods.includes(request.method))
    return { status: 405, reason: "not that method", allow: methods.join(", ") };
  return isWrite ? checkBody(request) : checkNoBody(request);
}

/** The start of a request as it came over the wire. */
export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Names and values alternating, duplicates included. */
  readonly rawHeaders: readonly string[];
}

export interface Refusal {
  readonly status: 400 | 403 | 405 | 411 | 413 | 415;
  readonly reason: string;
  /** The methods that the route takes. */
  readonly allow?: string;
}

/** The one route that takes a body. */
export const TOKEN_PATH = "/api/token";
const MAX_BODY_BYTES = 65_536;
const MAX_TARGET_CHARS = 2_048;

function checkBody(request: RequestHead): Refusal | undefined {
  const [type, ...moreTypes] = valuesOf(request, "content-type");
  // A form on another site cannot send this content type without a preflight, which we never allow.
  if (type === undefined || moreTypes.length > 0 || !/^application\/json\s*(;|$)/i.test(type))
    return { status: 415, reason: "only JSON" };
  // The page declares the length of its body: a longer one was refused above, and Node reads no more than declared.
  const isOpenEnded = valuesOf(request, "transfer-encoding").length > 0;
  return isOpenEnded ? { status: 411, reason: "no length" } : undefined;
}

function checkNoBody(request: RequestHead): Refusal | undefined {
  const hasBody = declaredBytes(request) > 0 || valuesOf(request, "transfer-encoding").length > 0;
  return hasBody ? { status: 400, reason: "no body is wanted" } : undefined;
}

function declaredBytes(request: RequestHead): number {
  return Math.max(0, ...valuesOf(request, "content-length").map(Number));
}

function isOwnHost(host: string, port: number): boolean {
  return OWN_NAMES.some((name) => host === `${name}:${port}` || (port === 80 && host === name));
}

const OWN_NAMES = ["127.0.0.1", "localhost", "[::1]"];

function valuesOf({ rawHeaders }: RequestHead, name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? "");
  return values;
}

/** Headers of every answer, errors included: nothing is loaded from elsewhere, cached, framed or sniffed, and no other origin is allowed anything. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${TRUSTED_TYPES_POLICY}`,
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};
