import { describe, expect, it } from "vitest";
import { isPlaceholder, isStockPassword } from "./placeholder-value.ts";
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
    ["bob1@example.test", "line", false],
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

describe("isGenerated", () => {
  it.each([
    ["0f1e2d3c4b5a6978", true],
    ["0f1e2d3c4b5a697", true],
    ["0123456789012345", false],
    ["abcdefabcdefabcd", false],
    ["aB1aB1aB1aB1", false],
    ["qzkxjvwpfhgbtrld", true],
    ["qzkxjvwpfhgbtrl", false],
  ])("%s: %s", (text, expected) => {
    expect(isGenerated(text, 4)).toBe(expected);
  });
});

describe("stand-ins", () => {
  it.each([
    ...[
      "xxxxx",
      "***",
      "...",
      "####",
      "aaaaaaa",
      "0000000000",
      "<token>",
      "[token]",
      "{token}",
      "$TOKEN",
      "%TOKEN%",
    ],
    ...[
      "${token}",
      "{{ token }}",
      "process.env.TOKEN",
      "vault:secret/db",
      "changeme",
      "your-api-key",
      "fake-key-1",
    ],
    ...["my_token", "key-here", "sk-test-123", "[REDACTED:token#12ab]"],
  ])("%s is one", (value) => {
    expect(isPlaceholder(value)).toBe(true);
  });

  it.each([GENERATED, "hunter22x", "xxxx1", "**a**"])("%s is none", (value) => {
    expect(isPlaceholder(value)).toBe(false);
  });

  it("are also the passwords of tutorials, unless they are long", () => {
    for (const value of ["password", "my-password1", "admin123", "P@ssw0rd!", "letmein", ""])
      expect(isStockPassword(value)).toBe(true);
    expect(isStockPassword("hunter22x")).toBe(false);
    expect(isStockPassword(`password${"1".repeat(10)}`)).toBe(true);
    expect(isStockPassword(`${"my-".repeat(11)}password`)).toBe(false);
  });
});
