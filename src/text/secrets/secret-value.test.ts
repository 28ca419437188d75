import { describe, expect, it } from "vitest";
import { isGenerated, isSecretValue, type ValueForm } from "./secret-value.ts";

const GENERATED = "k8Jd2Qw9LmZx4VbT7r";

describe("a value under the name of a password", () => {
  const isPassword = (value: string, form: ValueForm) => isSecretValue(value, { kind: "password", form });

  it.each([
    ["hunter22x", "line", true],
    ["hunter22x", "loose", false],
    ["abc1x", "line", false],
    ["abcd1x", "line", true],
    ["blue!sky", "line", true],
    ["bluesky!", "line", false],
    ["correcthorsebattery", "line", true],
    ["correcthorsebattery", "quoted", false],
    ["shortwords", "line", false],
    ["12345678", "line", false],
    ["abkd efqh ijkl mnop", "quoted", true],
    ["abkd efqh ijkl mnop", "line", false],
    ["two words1", "quoted", false],
    ["password123", "line", false],
    [GENERATED, "loose", true],
    ["$2b$10$abcdefghijk", "loose", true],
    ["user.password1", "line", false],
    ["get_password_2", "line", false],
    ["config[db1]", "line", false],
    ["call(x1)", "line", false],
    ["sha256", "line", false],
    ["/run/secrets/db1", "line", false],
    ["C:\\keys\\db1", "line", false],
    ["https://example.test/1", "line", false],
    ["bob1@server.test", "line", false],
  ] as const)("%s, %s: %s", (value, form, expected) => {
    expect(isPassword(value, form)).toBe(expected);
  });

  it("is none beyond 4,096 characters", () => {
    expect(isPassword(`${GENERATED}${"aB3".repeat(1_359)}`, "line")).toBe(true);
    expect(isPassword(`${GENERATED}${"aB3".repeat(1_360)}`, "line")).toBe(false);
  });
});

describe("a value under the name of something generated", () => {
  it("is as long as such values are: 12 characters, a secret 10", () => {
    const value = "k8Jd2Qw9LmZx";
    expect(isSecretValue(value, { kind: "key", form: "line" })).toBe(true);
    expect(isSecretValue(value.slice(1), { kind: "key", form: "line" })).toBe(false);
    expect(isSecretValue(value.slice(2), { kind: "secret", form: "line" })).toBe(true);
    expect(isSecretValue(value.slice(3), { kind: "secret", form: "line" })).toBe(false);
  });

  it.each(["getElementsByClassName", "k8Jd2Qw9 LmZx4VbT7r", "k8Jd2Qw9(LmZx4VbT7r", "<your-api-key-1>"])(
    "is not %s",
    (value) => {
      expect(isSecretValue(value, { kind: "token", form: "line" })).toBe(false);
    },
  );
});

describe("what a password can refer to instead of being one", () => {
  const isPassword = (value: string) => isSecretValue(value, { kind: "password", form: "line" });

  it.each([
    ...[
      "!secret1",
      "get1()",
      "<name1>",
      "{name1}",
      "$name1",
      "@name1",
      "%name1x",
      "&name1",
      "$a1->name",
      "$a1::name",
    ],
    ...[
      "$a1.name",
      "$name1[0",
      "a.name1",
      "a?.name1",
      "a.b.name1",
      "list[name1]",
      "a1.b[c2]",
      "_a.$name1",
      "$a1x.name",
    ],
    ...[
      "get-name-1",
      "get_name2",
      "one-two-three4",
      "GET_NAME_9",
      "sha-512",
      "utf-8x1".slice(0, 5),
      "http2x",
      "10.0.0.1",
    ],
  ])("%s refers to something", (value) => {
    expect(isPassword(value)).toBe(false);
  });

  it.each([
    ...[
      "ab1$name",
      "ab@cd1x",
      "a1.2bcd",
      "1a.bcd9",
      "a.b1!xy",
      "a1-b2-cd",
      "get-name-1x",
      "1get-name",
      "a..name1",
      "a.name1.",
    ],
    ...["list[name1", "list[]x1", "-get-name1", "get--name1", "na$me1!x"],
  ])("%s does not", (value) => {
    expect(isPassword(value)).toBe(true);
  });

  it.each([
    ["/etc/key1x", false],
    ["./key1xyz", false],
    ["../key1xyz", false],
    [".../key1xyz", false],
    ["~/key1xyz", false],
    ["C:\\key1xyz", false],
    ["c:/key1xyz", false],
    ["x/key1xyz", true],
    ["CD:/key1xyz", true],
    [`/${GENERATED}${GENERATED}abc`, true],
    [`/${GENERATED}${GENERATED}abc==`, true],
    [`/${GENERATED}${GENERATED}ab`, false],
    [`/${GENERATED}-${GENERATED}abcd`, false],
    ["https://a1.test", false],
    ["redis+tls.v2://a1", false],
    ["1a://b2c3d", true],
    ["ab1@server.test", false],
    ["a.b+c1@server-x.test", false],
    ["ab1@server1", true],
    ["ab1@serverX", true],
    ["a b1@server", false],
    ["ab=1@server", true],
  ])("%s: %s", (value, expected) => {
    expect(isPassword(value)).toBe(expected);
  });
});

describe("isGenerated", () => {
  it.each([
    ["0f1e2d3c4b5a6978", true],
    ["0f1e2d3c4b5a697", true],
    ["0123456789012345", false],
    ["abcdefabcdefabcd", false],
    ["aB1aB1aB1aB1", false],
    ["qzkxjvwpfhgbtrld", true],
    ["qzkxjvwpfhgbtrl", false],
    ["0x0f1e2d3c4b5a6978", true],
    ["0x0123456789012345", false],
    ["a234567890123456", true],
    ["a234567890123456zz", false],
    ["zza234567890123456", false],
    ["8b5f0f64-4c38-4a5e-9d3b-2f6f0c6e7a10", true],
    ["aB1cD2aB1cD2aB1c", true],
    ["aB1cDaB1cDaB1cD", false],
    ["hXqKzWvJpLmQ", true],
    ["hxqkzwvjplmq", false],
    [`${"ab".repeat(32)}${GENERATED}`, false],
  ])("%s: %s", (text, expected) => {
    expect(isGenerated(text, 4)).toBe(expected);
  });
});
