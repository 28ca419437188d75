import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SECURITY_HEADERS } from "../../src/inspector/server/request-guard.ts";
import { type ServedInspector, serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource } from "../../src/inspector/server/session-source.ts";
import { enter, FAKE_ASSETS, sendRaw, sessionOf, tokenOf } from "./server-support.ts";

/** {port}, {token} (a good one), {used} (a one-time token that was swapped) and {unused} are put in. */
interface Attempt {
  readonly name: string;
  /** Method and target. */
  readonly line: string;
  readonly host?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Instead of all that. */
  readonly raw?: string;
  readonly status: number;
}

const BEARER = "authorization: Bearer {token}";
const JSON_TYPE = "content-type: application/json";
const LONG = 65_537;

const ATTEMPTS: readonly Attempt[] = [
  { name: "the page", line: "GET /", status: 200 },
  { name: "the page's head", line: "HEAD /", status: 200 },
  { name: "the script", line: "GET /app.js", status: 200 },
  { name: "the style", line: "GET /app.css", status: 200 },
  { name: "by the name localhost", line: "GET /", host: "localhost:{port}", status: 200 },
  { name: "by the IPv6 address", line: "GET /", host: "[::1]:{port}", status: 200 },
  { name: "an unknown route", line: "GET /index.html", status: 404 },

  { name: "without a host", raw: "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", line: "", status: 403 },
  { name: "another host (DNS rebinding)", line: "GET /", host: "evil.example:{port}", status: 403 },
  { name: "a host without the port", line: "GET /", host: "127.0.0.1", status: 403 },
  { name: "a host with another port", line: "GET /", host: "127.0.0.1:1", status: 403 },
  {
    name: "a host that begins like ours",
    line: "GET /",
    host: "localhost.evil.example:{port}",
    status: 403,
  },
  { name: "a host that resolves to us", line: "GET /", host: "127.0.0.1.nip.io:{port}", status: 403 },
  { name: "the address of all interfaces", line: "GET /", host: "0.0.0.0:{port}", status: 403 },
  { name: "two hosts", line: "GET /", headers: ["Host: evil.example"], status: 403 },

  {
    name: "another origin",
    line: "GET /api/session",
    headers: [BEARER, "origin: http://evil.example"],
    status: 403,
  },
  { name: "the origin null", line: "GET /api/session", headers: [BEARER, "origin: null"], status: 403 },
  {
    name: "another port of this machine",
    line: "GET /api/session",
    headers: [BEARER, "origin: http://127.0.0.1:1"],
    status: 403,
  },
  {
    name: "our origin by another name",
    line: "GET /api/session",
    headers: [BEARER, "origin: http://localhost:{port}"],
    status: 403,
  },
  {
    name: "our own origin",
    line: "GET /api/session",
    headers: [BEARER, "origin: http://127.0.0.1:{port}"],
    status: 200,
  },
  { name: "asked by another site", line: "GET /", headers: ["sec-fetch-site: cross-site"], status: 403 },
  {
    name: "asked by a sister site",
    line: "GET /app.js",
    headers: ["sec-fetch-site: same-site"],
    status: 403,
  },
  { name: "typed into the browser", line: "GET /", headers: ["sec-fetch-site: none"], status: 200 },

  { name: "data without a token", line: "GET /api/session", status: 401 },
  {
    name: "a wrong token",
    line: "GET /api/messages",
    headers: [`authorization: Bearer ${"A".repeat(43)}`],
    status: 401,
  },
  { name: "a short token", line: "GET /api/session", headers: ["authorization: Bearer a"], status: 401 },
  {
    name: "a long token",
    line: "GET /api/session",
    headers: [`authorization: Bearer {token}${"a".repeat(8_000)}`],
    status: 401,
  },
  { name: "a token in the query", line: "GET /api/session?token={token}&t={unused}", status: 401 },
  { name: "a token in a cookie", line: "GET /api/session", headers: ["cookie: token={token}"], status: 401 },
  {
    name: "a one-time token in the header",
    line: "GET /api/session",
    headers: ["authorization: Bearer {unused}"],
    status: 401,
  },
  { name: "the right token", line: "GET /api/session", headers: [BEARER], status: 200 },
  { name: "an unknown route of the data", line: "GET /api/files", headers: [BEARER], status: 404 },

  {
    name: "a one-time token again",
    line: "POST /api/token",
    headers: [JSON_TYPE],
    body: '{"token":"{used}"}',
    status: 401,
  },
  {
    name: "a form of another site",
    line: "POST /api/token",
    headers: ["content-type: text/plain"],
    body: '{"token":"{unused}"}',
    status: 415,
  },
  { name: "no JSON", line: "POST /api/token", headers: [JSON_TYPE], body: "{", status: 400 },
  {
    name: "a long body",
    line: "POST /api/token",
    headers: [JSON_TYPE],
    body: "a".repeat(LONG),
    status: 413,
  },
  {
    name: "a long body that does not say so",
    line: "POST /api/token",
    headers: [JSON_TYPE, "transfer-encoding: chunked"],
    body: `${LONG.toString(16)}\r\n${"a".repeat(LONG)}\r\n0\r\n\r\n`,
    status: 411,
  },

  {
    name: "a preflight",
    line: "OPTIONS /api/session",
    headers: ["access-control-request-method: GET", "access-control-request-headers: authorization"],
    status: 405,
  },
  { name: "TRACE", line: "TRACE /", status: 405 },
  { name: "a write", line: "PUT /api/session", headers: [BEARER, JSON_TYPE], body: "{}", status: 405 },
  { name: "a tunnel", raw: "CONNECT evil.example:80 HTTP/1.1\r\nHost: x\r\n\r\n", line: "", status: 405 },

  { name: "a way out of the folder", line: "GET /../../../../etc/passwd", status: 404 },
  { name: "a hidden way out", line: "GET /%2e%2e/%2e%2e%2fetc/passwd", status: 404 },
  { name: "a whole address as target", line: "GET http://evil.example/", status: 400 },
  {
    name: "a socket",
    line: "GET /api/session",
    headers: [BEARER, "connection: upgrade", "upgrade: websocket"],
    status: 400,
  },
  { name: "headers without end", line: "GET /", headers: [`x: ${"a".repeat(20_000)}`], status: 431 },
  { name: "headers that take too long", raw: "GET / HTTP/1.1\r\nHost: 127", line: "", status: 408 },
];

let inspector: ServedInspector;
let values: Readonly<Record<string, string>>;
let port: number;

beforeAll(async () => {
  const source = createFixedSource(sessionOf(3));
  inspector = await serveInspector({ source, assets: FAKE_ASSETS, headersMs: 1_500 });
  port = Number(new URL(inspector.origin).port);
  const used = tokenOf(inspector.invite());
  values = {
    port: `${port}`,
    used,
    token: await enter(inspector, used),
    unused: tokenOf(inspector.invite()),
  };
});

afterAll(() => inspector.stop());

function bytesOf({ line, host = "127.0.0.1:{port}", headers = [], body, raw }: Attempt): string {
  const isChunked = headers.some((header) => header.startsWith("transfer-encoding"));
  const length = body === undefined || isChunked ? [] : [`content-length: ${filled(body).length}`];
  const upgrade = headers.some((header) => header.startsWith("upgrade"));
  const lines = [
    `${line} HTTP/1.1`,
    `Host: ${host}`,
    ...headers,
    ...length,
    ...(upgrade ? [] : ["connection: close"]),
  ];
  return filled(raw ?? `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

function filled(text: string): string {
  return text.replace(/\{(port|token|used|unused)\}/g, (_, name: string) => values[name] ?? "");
}

describe("a request to the inspector", () => {
  it("is tried in 47 ways", () => {
    expect(ATTEMPTS).toHaveLength(47);
    expect(new Set(ATTEMPTS.map(({ name }) => name)).size).toBe(47);
  });

  it.each(ATTEMPTS)("$name: $status", async (attempt) => {
    const { status, headers, body } = await sendRaw(port, bytesOf(attempt));
    expect(status).toBe(attempt.status);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) expect(headers.get(name)).toBe(value);
    expect(
      [...headers.keys()].filter((name) => /^access-control|^server$|^x-powered|^set-cookie/.test(name)),
    ).toEqual([]);
    if (status !== 200) expect(body).not.toMatch(/message 0|ses_1|at .*\.ts:\d/);
    if (attempt.line.startsWith("HEAD")) expect(body).toBe("");
  });
});
