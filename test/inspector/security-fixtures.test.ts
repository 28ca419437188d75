import { existsSync } from "node:fs";
import { connect } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SECURITY_HEADERS } from "../../src/inspector/server/request-guard.ts";
import { type ServedInspector, serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource, type SessionSource } from "../../src/inspector/server/session-source.ts";
import { enter, FAKE_ASSETS, sendRaw, sessionOf, tokenOf } from "./server-support.ts";

const fixtures = resolve(import.meta.dirname, "../../../shared/fixtures/hostile-inputs.mjs");
const isThere = existsSync(fixtures);
if (!isThere) console.log("security-fixtures: skipped, ../shared/fixtures is not there");

interface HostileRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly raw?: true;
  readonly expect: number | string;
}

interface Fixtures {
  readonly http: (port: number, token: string) => readonly HostileRequest[];
}

let inspector: ServedInspector;
let port = 0;
let token = "";

beforeAll(async () => {
  const source: SessionSource = {
    ...createFixedSource(sessionOf(3)),
    live: { revision: () => 0, listen: () => () => {} },
  };
  inspector = await serveInspector({ source, assets: FAKE_ASSETS, headersMs: 1_500 });
  port = Number(new URL(inspector.origin).port);
  token = await enter(inspector, tokenOf(inspector.invite()));
});

afterAll(() => inspector.stop());

function bytesOf({ method, path, headers, body = "" }: HostileRequest): string {
  const length = body === "" ? {} : { "content-length": `${body.length}` };
  const lines = Object.entries({ connection: "close", ...headers, ...length });
  // Theirs is a list of sessions; ours is one.
  const target = path.replace(/^\/api\/sessions/, "/api/session");
  return `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
}

/** The status, or statuses, that the words of the list stand for. */
function expected(words: number | string): RegExp {
  const [first = ""] = /4xx|\d{3}/.exec(`${words}`) ?? [];
  return new RegExp(`^${first.replace("xx", "\\d\\d")}$`);
}

describe.skipIf(!isThere)("the hostile requests of the founding papers", async () => {
  const { http } = isThere ? ((await import(pathToFileURL(fixtures).href)) as Fixtures) : { http: () => [] };
  const ids = http(4321, "t".repeat(43)).map(({ id }, index) => ({
    id: id.replace(/4321|4322/g, "port"),
    index,
  }));

  it("are 47", () => expect(ids).toHaveLength(47));

  it.each(ids.filter(({ id }) => !/^(slowloris|SSE)/.test(id)))("$id", async ({ index }) => {
    const request = http(port, token)[index] as HostileRequest;
    const { status, headers } = await sendRaw(port, bytesOf(request));
    expect(`${status}`).toMatch(expected(request.expect));
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) expect(headers.get(name)).toBe(value);
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it("closes a connection whose headers never end", async () => {
    const { status, headers } = await sendRaw(port, "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ");
    expect(status).toBe(408);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("lets 32 of 200 listen, refuses the others, and has room again when they are gone", async () => {
    const open = (): Promise<{ readonly status: string; readonly close: () => void }> =>
      new Promise((done, fail) => {
        const socket = connect(port, "127.0.0.1", () =>
          socket.write(
            `GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`,
          ),
        );
        socket.once("error", fail);
        socket.once("data", (chunk) =>
          done({ status: chunk.toString().slice(9, 12), close: () => socket.destroy() }),
        );
      });
    const statuses: string[] = [];
    const closers: (() => void)[] = [];
    for (let client = 0; client < 200; client++) {
      const { status, close } = await open();
      statuses.push(status);
      if (status === "200") closers.push(close);
      else close();
    }
    expect(statuses.filter((status) => status === "200")).toHaveLength(32);
    expect(statuses.filter((status) => status === "503")).toHaveLength(168);
    for (const close of closers) close();
    await expect
      .poll(async () => {
        const { status, close } = await open();
        close();
        return status;
      })
      .toBe("200");
  });
});
