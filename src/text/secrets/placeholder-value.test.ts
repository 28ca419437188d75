import { describe, expect, it } from "vitest";
import { isPlaceholder, isStockPassword } from "./secret-value.ts";

const GENERATED = "k8Jd2Qw9LmZx4VbT7r";

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
      `\${token}`,
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
