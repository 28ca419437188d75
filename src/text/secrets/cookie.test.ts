import { describe, expect, it } from "vitest";
import { cookieHeaderEnd, matchCookie } from "./cookie.ts";
import { sliceSpan } from "./secret-value.ts";

describe("a cookie", () => {
  const value = "k8Jd2Qw9LmZx4VbT7r";

  it("is read up to its separator, where it can open a session", () => {
    const at = (text: string) => {
      const span = matchCookie(text, text.indexOf("="));
      return span && sliceSpan(text, span);
    };
    expect(at(`sid=${value}; a=b`)).toBe(value);
    expect(at(`sid=${value}==; a=b`)).toBe(`${value}==`);
    expect(at("sid=short; a=b")).toBeUndefined();
    expect(at("sid=the-quick-brown-fox-jumps")).toBeUndefined();
    expect(at("sid=xxxxxxxxxxxxxxxxxxxxxxxx")).toBeUndefined();
  });

  it("stands in a header of that name, up to the end of the line", () => {
    const end = (text: string) => cookieHeaderEnd(text, text.indexOf(":"));
    expect(end("Cookie: a=b\nnext")).toBe(11);
    expect(end("SET-COOKIE: a=b\r\nnext")).toBe(15);
    expect(end('"cookie": "a=b"')).toBe(15);
    expect(end("Cookies: a=b")).toBeUndefined();
    expect(end("name: a=b")).toBeUndefined();
  });
});
