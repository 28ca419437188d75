import { describe, expect, it } from "vitest";
import { type SecretKind, secretKindOf, typeOfKind } from "./secret-value.ts";

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
