import { describe, expect, it } from "vitest";
import { createRedactConnection } from "./pool.ts";

const ADDRESS = "postgres://agent:p%40ss%2Fword@db.example:5432/fleet?sslmode=require";

describe("createRedactConnection", () => {
  it.each([
    { name: "the whole address", text: `cannot connect to ${ADDRESS} now` },
    { name: "the password as it stands there", text: "bad value p%40ss%2Fword" },
    { name: "the password as the server gets it", text: "bad value p@ss/word" },
    { name: "another address", text: "see postgresql://other:hunter2@elsewhere/x" },
  ])("takes out $name", ({ text }) => {
    const redacted = createRedactConnection(ADDRESS)(text);
    expect(redacted).toContain("[REDACTED]");
    expect(redacted).not.toMatch(/p%40ss|p@ss|hunter2/);
  });

  it("takes out a password among the parameters", () => {
    const redact = createRedactConnection("postgres:///fleet?host=/run/pg&user=a&password=s%3Dcret");
    expect(redact("s=cret and s%3Dcret")).toBe("[REDACTED] and [REDACTED]");
  });

  it("takes out a password that itself holds the signs around it", () => {
    expect(createRedactConnection("postgres://agent:a:b@c@host/db")("the word a:b@c")).toBe(
      "the word [REDACTED]",
    );
  });

  it("leaves text without a secret as it is", () => {
    const redact = createRedactConnection("postgres://db.example/fleet");
    expect(redact("connect ECONNREFUSED 10.0.0.1:5432")).toBe("connect ECONNREFUSED 10.0.0.1:5432");
    expect(createRedactConnection(undefined)("as it is")).toBe("as it is");
  });

  it("takes an address that cannot be read for a secret as a whole", () => {
    expect(createRedactConnection("postgres://%:%@")("is postgres://%:%@ right?")).not.toContain("%:%");
  });
});
