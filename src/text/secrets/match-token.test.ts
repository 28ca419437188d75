import { describe, expect, it } from "vitest";
import { matchVendorToken } from "./match-token.ts";
import { redactSecrets } from "./redact-secrets.ts";

const body = "k8Jd2Qw9LmZx4VbT7rPzhG5nYc3WsX1qB6fK";
const github = ["gh", "p_", body].join("");
const aws = ["AK", "IA", "QZKXJVWPFHGBTRLD"].join("");

describe("a token of a known vendor", () => {
  it("is found exactly where it stands, to its end", () => {
    expect(matchVendorToken(github, 0)).toEqual({
      startIndex: 0,
      endIndex: github.length,
      type: "github-token",
    });
    expect(matchVendorToken(`x${github} y`, 1)).toEqual({
      startIndex: 1,
      endIndex: github.length + 1,
      type: "github-token",
    });
    expect(matchVendorToken(`x${github}`, 0)).toBeUndefined();
    expect(matchVendorToken("é", 0)).toBeUndefined();
    expect(matchVendorToken("gé", 0)).toBeUndefined();
    expect(matchVendorToken("g", 0)).toBeUndefined();
  });

  it("is as long as such tokens are", () => {
    expect(matchVendorToken(github.slice(0, 40), 0)?.endIndex).toBe(40);
    expect(matchVendorToken(github.slice(0, 12), 0)).toBeUndefined();
    const long = github + body.repeat(4);
    expect(matchVendorToken(long, 0)?.endIndex).toBe(long.length);
  });

  it("is none where the body is a word, or stands in for one", () => {
    expect(matchVendorToken("ghp_this_is_the_name_of_a_branch_or_of_a_file", 0)).toBeUndefined();
    expect(matchVendorToken(`ghp_${"x".repeat(36)}`, 0)).toBeUndefined();
    expect(matchVendorToken(`ghp_${body.slice(0, 29)}EXAMPLE`, 0)).toBeUndefined();
  });

  it("may read like a number or a word where its prefix or its alphabet tells enough", () => {
    const slack = ["xo", "xb-", "123456789012-123456789012-abcdefabcdefabcdefabcdef"].join("");
    expect(matchVendorToken(slack, 0)?.type).toBe("slack-token");
    expect(matchVendorToken(["AK", "IA", "ABCDEFGHIJKLMNOP"].join(""), 0)?.type).toBe("aws-key");
    expect(matchVendorToken(["gh", "p_", "1234".repeat(9)].join(""), 0)).toBeUndefined();
  });

  it("is none in the middle of encoded data, where only letters announce it", () => {
    expect(matchVendorToken(aws, 0)?.type).toBe("aws-key");
    expect(matchVendorToken(` ${aws}`, 1)?.type).toBe("aws-key");
    expect(matchVendorToken(`a+${aws}`, 2)).toBeUndefined();
    expect(matchVendorToken(`a\n+${aws}`, 3)?.type).toBe("aws-key");
    expect(matchVendorToken(`/${aws}`, 1)).toBeUndefined();
    expect(matchVendorToken(`/${github}`, 1)?.type).toBe("github-token");
  });

  it.each([
    ["behind a percent escape", `%3A${github}`, "%3A«»"],
    ["behind another one", `%2f${github}`, "%2f«»"],
    ["behind a letter escape", `\\n${github}`, "\\n«»"],
    ["behind a hex escape", `\\x3d${github}`, "\\x3d«»"],
    ["behind a long escape", `\\u003d${github}`, "\\u003d«»"],
    ["behind words", `my-${github}`, "my-«»"],
    ["behind generated text", `${body}-${github}`, `${body}-${github}`],
    ["behind a letter", `a${github}`, `a${github}`],
  ])("%s", (_name, text, shown) => {
    expect(redactSecrets(text).replace(/\[REDACTED:[^\]]*\]/g, "«»")).toBe(shown);
  });
});
