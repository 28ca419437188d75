import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAccess } from "./access.ts";
import { checkRequest, type RequestHead } from "./request-guard.ts";

const PORT = 41_234;
const OWN_HOSTS = [`127.0.0.1:${PORT}`, `localhost:${PORT}`, `[::1]:${PORT}`];

const head = (headers: readonly string[], more: Partial<RequestHead> = {}): RequestHead => ({
  method: "GET",
  target: "/",
  rawHeaders: headers,
  ...more,
});

const own = fc.constantFrom(...OWN_HOSTS);
/** Hosts and origins that look like ours, and any others. */
const nearly = (values: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string(),
    fc.domain(),
    fc.tuple(fc.constantFrom(...values), fc.string({ minLength: 1 })).map(([value, more]) => value + more),
    fc.tuple(fc.string({ minLength: 1 }), fc.constantFrom(...values)).map(([more, value]) => more + value),
    fc.tuple(fc.constantFrom(...values), fc.nat()).map(([value, at]) => value.slice(0, at % value.length)),
  );

describe("checkRequest", () => {
  it("lets only the three names of this machine and port in, whatever else is said", () => {
    fc.assert(
      fc.property(nearly(OWN_HOSTS), fc.constantFrom("Host", "host", "HOST"), (host, name) => {
        const refusal = checkRequest(head([name, host]), PORT);
        expect(refusal?.status).toBe(OWN_HOSTS.includes(host) ? undefined : 403);
      }),
    );
  });

  it("refuses every origin but its own", () => {
    const origins = OWN_HOSTS.map((host) => `http://${host}`);
    fc.assert(
      fc.property(own, fc.oneof(nearly(origins), fc.constantFrom(...origins)), (host, origin) => {
        const refusal = checkRequest(head(["Host", host, "Origin", origin]), PORT);
        expect(refusal?.status).toBe(origin === `http://${host}` ? undefined : 403);
      }),
    );
  });

  it("refuses when one of several values is not ours", () => {
    const [host = ""] = OWN_HOSTS;
    const good = ["Host", host, "Origin", `http://${host}`, "Sec-Fetch-Site", "same-origin"];
    expect(checkRequest(head(good), PORT)).toBeUndefined();
    for (const bad of [
      ["Host", host],
      ["origin", "http://evil.example"],
      ["SEC-FETCH-SITE", "cross-site"],
    ])
      expect(checkRequest(head([...good, ...bad]), PORT)?.status).toBe(403);
  });

  it("refuses every method but reading, and writing only where a token is swapped", () => {
    const [host = ""] = OWN_HOSTS;
    const method = fc.oneof(
      fc.string(),
      fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"),
    );
    fc.assert(
      fc.property(method, fc.constantFrom("/", "/api/session", "/api/token"), (name, target) => {
        const headers = ["host", host, "content-type", "application/json"];
        const isAllowed = target === "/api/token" ? name === "POST" : name === "GET" || name === "HEAD";
        const refusal = checkRequest(head(headers, { method: name, target }), PORT);
        expect(refusal?.status).toBe(isAllowed ? undefined : 405);
      }),
    );
  });

  it.each([
    { length: "65536", status: undefined },
    { length: "65537", status: 413 },
    { length: "99999999999999999999", status: 413 },
  ])("answers $length declared bytes with $status before it has read any", ({ length, status }) => {
    const headers = [
      "host",
      `localhost:${PORT}`,
      "content-type",
      "application/json",
      "Content-Length",
      length,
    ];
    const request = head(headers, { method: "POST", target: "/api/token" });
    expect(checkRequest(request, PORT)?.status).toBe(status);
  });

  it("leaves the port out of a host only where a browser does", () => {
    expect(checkRequest(head(["host", "localhost"]), 80)).toBeUndefined();
    expect(checkRequest(head(["host", "localhost"]), PORT)?.status).toBe(403);
  });
});

describe("a token", () => {
  it("has 256 bits, is swapped once, and lets nobody in before", () => {
    const access = createAccess();
    const invitation = access.invite();
    expect(Buffer.from(invitation, "base64url")).toHaveLength(32);
    expect(access.allows(`Bearer ${invitation}`)).toBe(false);
    const token = access.exchange(invitation) ?? "";
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(access.exchange(invitation)).toBeUndefined();
    expect([
      access.allows(`Bearer ${token}`),
      access.allows(`Bearer ${token}x`),
      access.allows(undefined),
    ]).toEqual([true, false, false]);
  });
});
