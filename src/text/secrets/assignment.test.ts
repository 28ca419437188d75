import { describe, expect, it } from "vitest";
import { type ValuePlace, valueAt } from "./assignment.ts";
import { redactSecrets } from "./redact-secrets.ts";
import { sliceSpan } from "./secret-value.ts";

function read(text: string, place: ValuePlace = "spaced", index = 0) {
  const value = valueAt(text, { index, place });
  return value && [sliceSpan(text, value), value.form];
}

describe("valueAt", () => {
  it.each([
    ["spaced", "abc=def ghi", ["abc=def", "line"]],
    ["spaced", "abc,def", ["abc", "loose"]],
    ["spaced", "abc.", ["abc", "line"]],
    ["spaced", "abc)", ["abc", "loose"]],
    ["spaced", "abc(", undefined],
    ["spaced", "abc[0]", undefined],
    ["spaced", "abc{", undefined],
    ["spaced", " abc", undefined],
    ["spaced", "", undefined],
    ["tight", "abc=def", ["abc", "loose"]],
    ["tight", "abc== x", ["abc==", "line"]],
    ["tight", "abc:def", ["abc", "loose"]],
    ["tight", "hunter2supersecret; ls", ["hunter2supersecret", "line"]],
    ["tight", "x1supersecret9;", ["x1supersecret9", "line"]],
    ["tight", "userPassword; ls", ["userPassword", "loose"]],
    ["tight", "base64Value; next()", ["base64Value", "loose"]],
    ["tight", "hunter2supersecret;b=1", ["hunter2supersecret", "loose"]],
    ["parameter", "abc&x=1", ["abc", "line"]],
    ["parameter", "abc=def#x", ["abc=def", "line"]],
    ["settings-line", "a&(b;c. d", ["a&(b;c.", "line"]],
  ] as const)("%s, %j: %j", (place, text, expected) => {
    expect(read(text, place)).toEqual(expected);
  });

  it.each([
    ['"a b" c', ["a b", "quoted"]],
    ["'a b' c", ["a b", "quoted"]],
    ["`a b` c", ["a b", "quoted"]],
    ['b"abc"', ["abc", "quoted"]],
    ['\\"a b\\" c', ["a b", "quoted"]],
    ['"a\\"b" c', ['a\\"b', "quoted"]],
    ['""', undefined],
    ['"abc def', ["abc", "line"]],
    ['" abc', undefined],
  ])("in quotes, %s: %j", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it("reads from where it is told", () => {
    expect(read("key = abc def", "spaced", 6)).toEqual(["abc", "line"]);
    expect(read("x".repeat(5_000))?.[0]).toHaveLength(4_096);
  });
});

describe("a password that a person made is hidden whole", () => {
  it.each([
    ["password: SummerVelvet;1534#", "password: P"],
    ["admin pw: Mango[6483#", "admin pw: P"],
    ["DB_HOST=a\nDB_PASSWORD=Harbor,4314\nX=1", "DB_HOST=a\nDB_PASSWORD=P\nX=1"],
    [
      "Server=db;User Id=sa;Password=Harbor,4314;Trust Server=1",
      "Server=db;User Id=sa;Password=P;Trust Server=1",
    ],
    ["curl -u admin:Mango>7697! https://api.test/v1", "curl -u admin:P https://api.test/v1"],
    ["{ password: 'Falcon}2439' }", "{ password: 'P' }"],
    ['Environment="REDIS_PASSWORD=Falcon=8846!"', 'Environment="REDIS_PASSWORD=P"'],
    ["--set auth.password=Winter&34# -f x", "--set auth.password=P -f x"],
    ["<password>Rocket}3302</password>", "<password>P</password>"],
    ['{"password":"RocketFalc\non|761"}', '{"password":"P"}'],
  ])("%s", (text, expected) => {
    expect(redactSecrets(text).replace(/\[REDACTED:password#....\]/, "P")).toBe(expected);
  });
});
