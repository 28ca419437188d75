import { describe, expect, it } from "vitest";
import { secretKindOf } from "./secret-name.ts";

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
    ...["author", "authority", "AUTH0_DOMAIN", "signature", "id", ""],
  ])("reads nothing secret in %j", (name) => {
    expect(secretKindOf(name)).toBeUndefined();
  });
});
