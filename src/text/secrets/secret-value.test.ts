import { describe, expect, it } from "vitest";
import {
  decodeBase64Text,
  isGenerated,
  isPlaceholder,
  isSecretValue,
  isStockPassword,
  randomness,
  type SecretKind,
  secretKindOf,
  typeOfKind,
  type ValueForm,
} from "./secret-value.ts";

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

describe("secretKindOf", () => {
  it.each([
    ["DB_PASSWORD", "password"],
    ["spring.datasource.password", "password"],
    ["PGPASSWORD", "password"],
    ["userPwd", "password"],
    ["DB_PASS", "password"],
    ["clientSecret", "secret"],
    ["APP_SECRET_PROD", "secret"],
    ["client-key-data", "secret"],
    ["apiKey", "key"],
    ["X-Api-Key", "key"],
    ["aws_secret_access_key", "key"],
    ["ACCESS_KEY_ID", "key"],
    ["SharedAccessKey", "key"],
    ["SECRET_KEY_BASE", "key"],
    ["OPENROUTER_KEY", "key"],
    ["API_KEYS", "key"],
    ["_authToken", "token"],
    ["access_token", "token"],
    ["TOKEN_GITHUB", "token"],
    ["GITHUB_PAT", "token"],
    ["Authorization", "credential"],
    ["credentials", "credential"],
    ["dbPw", "password"],
    ["userPW", "password"],
    ["SECRET_ID", "secret"],
    ["accessKeyId", "key"],
    ["HTTPApiKey", "key"],
    ["my  api..key", "key"],
    ["passwords", "password"],
    ["appkey", "key"],
    ["A1_KEY", "key"],
    ["MY_OWN_PAT", "token"],
    ["a_long_name_of_an_api_key", "key"],
  ] as const)("reads %s as %s", (name, kind) => {
    expect(secretKindOf(name)).toBe(kind);
  });

  it.each([
    ...["publicKey", "primary_key", "cacheKey", "sortKey", "monkey", "key", "Idempotency-Key", "keyboard"],
    ...["max_tokens", "nextPageToken", "tokenizer", "token_count", "tokenType", "TOKEN_URL", "api_key_id"],
    ...[
      "passwordLength",
      "password_file",
      "PASSWORD_HASHERS",
      "compass",
      "bypass",
      "secretName",
      "secret_version",
    ],
    ...["a_pw", "pw", "1pw", "isSecret", "no_secret", "KEY_ID", "my_pat", "My_PAT", "data", "primary_data"],
    ...[
      "customKey",
      "custom_key",
      "Custom_KEY",
      "keystone",
      "tokenise",
      "secretsmanager",
      "a_long_name_of_a_sort_key",
    ],
    ...["author", "authority", "AUTH0_DOMAIN", "signature", "id", ""],
  ])("reads nothing secret in %j", (name) => {
    expect(secretKindOf(name)).toBeUndefined();
  });

  it("gives the same answer for a name however often it is asked, and however many others are between", () => {
    const ask = () => [secretKindOf("apiKey"), secretKindOf("sortKey"), secretKindOf("a_longer_api_key")];
    const first = ask();
    for (let number = 0; number < 1_100; number++) secretKindOf(`key${number}`);
    expect(ask()).toEqual(first);
    expect(first).toEqual(["key", undefined, "key"]);
  });

  it("is an api key by its placeholder, everything else by its kind", () => {
    expect(
      ["password", "secret", "key", "token", "credential"].map((kind) => typeOfKind(kind as SecretKind)),
    ).toEqual(["password", "secret", "api-key", "token", "credential"]);
  });
});

const GENERATED_VALUES = "k8Jd2Qw9LmZx4VbT7r";

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

  it.each([GENERATED_VALUES, "hunter22x", "xxxx1", "**a**"])("%s is none", (value) => {
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

describe("randomness", () => {
  it.each([
    "getElementsByClassName",
    "uniformMatrix2x3fv",
    "app-db-credentials-v2",
    "claude-sonnet-4-5-20250929",
    "COMPRESSED_SRGB8_ALPHA8",
    "correcthorsebatterystaple",
    "XMLHttpRequestEventTarget",
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "abcdefghijklmnopqrstuvwxyz",
    "2026-03-16T15:26:30.123Z",
  ])("does not rise for what people write: %s", (text) => {
    expect(randomness(text)).toBeLessThan(4);
  });

  it.each([
    "kJ8dQw2LmZx9VbT4",
    "x7kqz2mvw9rtb4hd",
    "QZKXJVWPFHGBTRLD",
    "hXqKzWvJpLmQdRtGbN",
    "7f3c9a1e5b2d8064",
  ])("rises for what a machine made: %s", (text) => {
    expect(randomness(text)).toBeGreaterThan(6);
  });
});

describe("isGenerated", () => {
  it("takes hexadecimal digits of both kinds for generated, and numbers not", () => {
    expect(isGenerated("0f1e2d3c4b5a6978", 4)).toBe(true);
    expect(isGenerated("8b5f0f64-4c38-4a5e-9d3b-2f6f0c6e7a10", 4)).toBe(true);
    expect(isGenerated("2026031615263012", 4)).toBe(false);
  });

  it("needs more than a few different characters", () => {
    expect(isGenerated("sk-sk-sk-sk-sk-sk-sk-sk", 4)).toBe(false);
  });
});

describe("the score of randomness", () => {
  it.each([
    ["", 0],
    ["a", 0],
    ["-", 0],
    ["a1", 1.5],
    ["1a", 1.5],
    ["11", 0],
    ["a-b", 0],
    ["abcB", randomness("abc") + 0.5],
    ["aB", 2],
    ["1aB", 3.5],
    ["abB", randomness("ab") + 0.5],
    ["zZ", 2],
  ])("of %s is %d", (text, score) => {
    expect(randomness(text)).toBe(score);
  });

  it("falls for rows of the same or the next character", () => {
    expect(randomness("1234")).toBe(-4);
    expect(randomness("1111")).toBe(-4);
    expect(randomness("1357")).toBe(0);
    expect(randomness("aaaa") - randomness("aaa")).toBe(-2);
    expect(randomness("0a9Z")).toBe(randomness("5k5K"));
  });
});

describe("decodeBase64Text", () => {
  it.each(["", "a", "ab", "abc", "user:password", "tab\t line\r\n ~"])("gives back %j", (text) => {
    expect(decodeBase64Text(Buffer.from(text).toString("base64"))).toBe(text);
  });

  it.each([
    "a b=",
    "\u00e9",
    Buffer.from([0, 1, 2]).toString("base64"),
    Buffer.from("\u007f").toString("base64"),
  ])("finds no plain text in %j", (encoded) => {
    expect(decodeBase64Text(encoded)).toBeUndefined();
  });
});
