import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { redactSecrets, redactSecretsWithReport } from "./redact-secrets.ts";

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const ALPHANUMERIC = LOWER + LOWER.toUpperCase() + DIGITS;
const HEX = `${DIGITS}abcdef`;
const BASE64 = `${ALPHANUMERIC}+/`;
const PLACEHOLDER = /\[REDACTED:[a-z\d-]+#[\da-f]{4}\]/g;

// Values are made at run time and prefixes glued, so that no scanner takes this file for a leak.
let state = 7;
function junk(chars: number, alphabet: string = ALPHANUMERIC): string {
  let made = "";
  while (made.length < chars) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    made += alphabet.charAt((state >>> 8) % alphabet.length);
  }
  return made;
}
const glue = (...pieces: readonly string[]): string => pieces.join("");
const password = (): string =>
  `${junk(5, LOWER)}${junk(2, DIGITS)}!${junk(4, LOWER).toUpperCase()}${junk(3, LOWER)}`;
const uuid = (): string => [8, 4, 4, 4, 12].map((chars) => junk(chars, HEX)).join("-");

const TOKENS: readonly (readonly [type: string, make: () => string])[] = [
  ["aws-key", () => glue("AK", "IA", junk(16, LOWER.toUpperCase()))],
  ["google-api-key", () => glue("AI", "za", junk(35))],
  ["google-refresh-token", () => glue("1/", "/0", junk(60))],
  ["github-token", () => glue("gh", "p_", junk(36))],
  ["github-token", () => glue("github", "_pat_", junk(22), "_", junk(59))],
  ["gitlab-token", () => glue("gl", "rt-", junk(20))],
  ["npm-token", () => glue("np", "m_", junk(36))],
  ["anthropic-key", () => glue("sk-", "ant-api03-", junk(95))],
  ["openai-key", () => glue("sk-", "svcacct-", junk(80))],
  ["huggingface-token", () => glue("h", "f_", junk(34, LOWER + LOWER.toUpperCase()))],
  ["langsmith-key", () => glue("ls", "v2_pt_", junk(32, HEX), "_", junk(10, HEX))],
  ["nvidia-key", () => glue("nv", "api-", junk(64))],
  ["slack-token", () => glue("xo", "xb-", junk(12, DIGITS), "-", junk(12, DIGITS), "-", junk(24))],
  ["stripe-key", () => glue("rk", "_live_", junk(24))],
  ["sendgrid-key", () => glue("S", "G.", junk(22), ".", junk(43))],
  ["telegram-token", () => glue(junk(9, "123456789"), ":AA", junk(33))],
  ["discord-token", () => glue("MT", junk(22), ".", junk(6), ".", junk(38))],
  ["terraform-token", () => glue(junk(14), ".atlas", "v1.", junk(64))],
  ["azure-secret", () => glue(junk(3), "8Q", "~", junk(34))],
  ["tailscale-key", () => glue("ts", "key-auth-", junk(12), "-", junk(32))],
  ["dynatrace-token", () => glue("dt0", "c01.", junk(24), ".", junk(64))],
  ["plaid-token", () => glue("access-", "sandbox-", uuid())],
  ["age-key", () => glue("AGE-SEC", "RET-KEY-1", junk(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"))],
  ["jwt", () => glue("ey", "J", junk(30), ".ey", "J", junk(40), ".", junk(43))],
  [
    "braintree-token",
    () => glue("access_token", "$production$", junk(16, LOWER + DIGITS), "$", junk(32, HEX)),
  ],
  ["token", () => glue("acme", "_live_", junk(32))],
  ["token", () => glue("thing-", "pat-", junk(40))],
];

describe("a token of a known format", () => {
  it.each(TOKENS)("is found as %s wherever it stands", (type, make) => {
    for (const wrap of [
      (token: string) => `log: using ${token} for request`,
      (token: string) => `"${token}"`,
      (token: string) => `{\\"text\\":\\"first line\\n${token}\\"}`,
      (token: string) => `- \`${token}\``,
    ]) {
      const token = make();
      const text = wrap(token);
      const redacted = redactSecrets(text);
      expect(redacted).toBe(wrap(redacted.match(PLACEHOLDER)?.[0] ?? "nothing found"));
      expect(redacted).toContain(`[REDACTED:${type}#`);
    }
  });
});

const FORMS: readonly (readonly [form: string, secret: () => string, wrap: (secret: string) => string])[] = [
  ["settings", () => junk(32), (s) => `export API_KEY=${s}\n`],
  ["settings with marks", () => `${junk(9)}&(${junk(9)};x`, (s) => `DB_PASSWORD=${s}\n`],
  ["JSON", password, (s) => `{"password": "${s}"}`],
  ["JSON in JSON", () => junk(32), (s) => JSON.stringify(JSON.stringify({ accessToken: s }))],
  ["YAML", password, (s) => `db:\n  password: ${s}\n`],
  ["YAML block", () => junk(40), (s) => `token: >-\n  ${s}\n`],
  ["TOML", () => junk(40, HEX), (s) => `secret_key = '${s}'`],
  ["properties", password, (s) => `spring.datasource.password=${s}\n`],
  ["name and value pairs", password, (s) => `- name: DB_PASSWORD\n  value: "${s}"\n`],
  ["element", password, (s) => `<password>${s}</password>`],
  ["attribute pair", password, (s) => `<add key="DbPassword" value="${s}" />`],
  ["typed code", () => junk(32), (s) => `const apiKey: string = "${s}";`],
  ["hash literal", () => junk(32), (s) => `'api_key' => '${s}',`],
  ["call", () => junk(32), (s) => `client.setApiKey("${s}")`],
  ["argument pair", () => junk(32), (s) => `.header("X-Api-Key", "${s}")`],
  ["option", () => junk(24), (s) => `tool --api-key ${s} run`],
  ["glued option", password, (s) => `mysql -u root -p${s} app`],
  ["user pair", password, (s) => `curl -u admin:${s} https://example.test`],
  ["header", () => junk(32, HEX), (s) => `X-Api-Key: ${s}`],
  ["bearer", () => junk(40), (s) => `> Authorization: Bearer ${s}`],
  ["other scheme", () => junk(40, HEX), (s) => `Authorization: token ${s}`],
  ["cookie", () => junk(40), (s) => `Cookie: theme=dark; sid=${s}; lang=en`],
  ["address", password, (s) => `postgres://app:${s}@db.internal:5432/app`],
  ["address with a slash", () => `${junk(10)}/${junk(8)}`, (s) => `mysql://app:${s}@db/app`],
  ["address with a token", () => junk(32, HEX), (s) => `https://${s}@o1.ingest.example.test/4`],
  ["parameter", () => junk(40), (s) => `https://example.test/a?access_token=${s}&x=1`],
  ["signed link", () => junk(64, HEX), (s) => `https://example.test/k?X-Amz-Signature=${s}`],
  ["connection string", password, (s) => `Server=db;User Id=sa;Password=${s};Encrypt=True`],
  ["key string", () => `${junk(43, BASE64)}=`, (s) => `SharedAccessKeyName=Root;SharedAccessKey=${s}`],
  ["netrc", password, (s) => `machine api.test\n  login bob\n  password ${s}\n`],
  ["pgpass", password, (s) => `db.internal:5432:app:appuser:${s}\n`],
  ["SQL", password, (s) => `CREATE USER app WITH PASSWORD '${s}';`],
  ["shadow", () => `$6$${junk(8)}$${junk(86)}`, (s) => `root:${s}:19000:0:99999:7:::`],
  ["prose", () => junk(32), (s) => `The API key is ${s}, keep it.`],
  ["emphasis", () => junk(32), (s) => `**API Key:** ${s}`],
  ["table", () => junk(32), (s) => `| Access token | ${s} |`],
  ["wallet key", () => `0x${junk(64, HEX)}`, (s) => `PRIVATE_KEY=${s}`],
  ["application password", () => "abkd efqh ijkl mnop", (s) => `gmail_password = "${s}"`],
  [
    "seed phrase",
    () => "river stone cloud tiger ocean apple lemon grape melon peach berry mango",
    (s) => `MNEMONIC="${s}"`,
  ],
  ["uuid under a secret name", uuid, (s) => `//npm.example.test/:_authToken=${s}\n`],
];

describe("a secret under a secret-looking name", () => {
  it.each(FORMS)("is hidden in the form of: %s", (_form, make, wrap) => {
    for (let round = 0; round < 20; round++) {
      const secret = make();
      const redacted = redactSecrets(wrap(secret));
      expect(redacted).not.toContain(secret);
      expect(redacted.replace(PLACEHOLDER, "")).toBe(wrap(""));
    }
  });
});

describe("a private key", () => {
  const lines = (): string => [junk(64, BASE64), junk(64, BASE64), `${junk(30, BASE64)}=`].join("\n");
  const begin = (label: string): string => glue("-----BEGIN ", label, "PRIVATE", " KEY-----");
  const end = (label: string): string => glue("-----END ", label, "PRIVATE", " KEY-----");
  it.each([
    ["whole", (s: string) => `${begin("RSA ")}\n${s}\n${end("RSA ")}`],
    ["escaped", (s: string) => `${begin("")}\\n${s.replaceAll("\n", "\\n")}\\n${end("")}`],
    [
      "encrypted",
      (s: string) => `${begin("RSA ")}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00FF\n\n${s}\n${end("RSA ")}`,
    ],
    ["with line numbers", (s: string) => `${begin("EC ")}\n${s}`.replaceAll("\n", "\n   12→")],
    ["in a diff", (s: string) => `${begin("")}\n${s}\n${end("")}`.replaceAll("\n", "\n+")],
    ["cut at the end", (s: string) => `${begin("OPENSSH ")}\n${s}`],
    ["cut at the start", (s: string) => `${s}\n${end("OPENSSH ")}`],
  ])("is hidden %s", (_form, wrap) => {
    const body = lines();
    const redacted = redactSecrets(wrap(body));
    for (const line of body.split("\n")) expect(redacted).not.toContain(line.slice(0, 12));
    expect(redactSecrets(redacted)).toBe(redacted);
  });

  it("is not seen where only its marker or its public half stands", () => {
    for (const text of [
      `if (pem.includes("${begin("")}")) {`,
      `${begin("")}\n...\n${end("")}`,
      `-----BEGIN CERTIFICATE-----\n${lines()}\n-----END CERTIFICATE-----`,
    ]) {
      expect(redactSecrets(text)).toBe(text);
    }
  });
});

describe("text without a secret", () => {
  it.each([
    "password = var.db_password",
    "password: {{ .Values.db.password }}",
    `token: "\${{ steps.app.outputs.token }}"`,
    "const token = await getToken2(user1)",
    "accessToken: session?.accessToken ?? ''",
    "(user: string, password: Uint8Array)",
    "apiKey: import.meta.env.VITE_API_KEY1",
    "DB_PASSWORD_FILE=/run/secrets/db2",
    "PWD=/tmp/tmp.Xk29dkfj3a/work",
    "TOKEN_URL=https://auth.example.test/oauth2/v1/token",
    'password: "password123"',
    "https://user:password@example.com/",
    "docker run -u 1000:1000 image",
    "Basic authentication is required",
    "Password must contain at least 8 characters, 1 digit",
    "--- PASS: TestE2E_Rewind2 (12.40s)",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    'secretName: my-app-secret-7f8d9\n"total_tokens": 184399',
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-Ab3dE9",
  ])("stays as it is: %s", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it.each([
    ["page tokens", () => `"next_page_token": "${junk(30)}"`],
    ["idempotency keys", () => `Idempotency-Key: ${uuid()}`],
    ["cache keys", () => `cache_key: npm-${junk(40, HEX)}`],
    ["key identifiers", () => `"api_key_id": "${uuid()}", "private_key_id": "${junk(40, HEX)}"`],
    ["public keys", () => `PUBLIC_KEY=${junk(64, HEX)} ssh-ed25519 AAAAC3Nz${junk(60, BASE64)}`],
    [
      "provider identifiers",
      () => `toolu_${junk(24)} call_${junk(24)} msg_${junk(24)} resp_${junk(48, HEX)}`,
    ],
    ["deployed commits", () => `deploy-prod-${junk(40, HEX)} image:api-${junk(40, HEX)}`],
    ["built files", () => `assets/token-${junk(20, HEX)}.js`],
    ["lock files", () => `"integrity": "sha512-${junk(86, BASE64)}=="`],
    [
      "signatures and encrypted content",
      () => `{"signature":"${junk(2_000, BASE64)}","encrypted_content":"${junk(2_000)}"}`,
    ],
    ["a prefix in the middle of an encoded value", () => `${junk(30)}_${glue("gh", "p_", junk(36))}`],
    ["a prefix in an opaque field", () => `"encrypted_content":"${junk(60)}/${glue("h", "f_", junk(34))}"`],
    ["images", () => `data:image/png;base64,${junk(2_000, BASE64)}`],
  ])("keeps %s", (_name, make) => {
    for (let round = 0; round < 20; round++) {
      const text = make();
      expect(redactSecrets(text)).toBe(text);
    }
  });
});

describe("redactSecretsWithReport", () => {
  it("counts the secrets of each type", () => {
    const text = `${glue("gh", "p_", junk(36))} ${glue("gh", "o_", junk(36))} password: ${password()}`;
    expect(redactSecretsWithReport(text).found).toEqual([
      { type: "github-token", count: 2 },
      { type: "password", count: 1 },
    ]);
  });

  it("finds nothing in plain text", () => {
    expect(redactSecretsWithReport("plain text")).toEqual({ text: "plain text", found: [] });
  });
});

describe("placeholders", () => {
  const [one, other] = [glue("gh", "p_", junk(36)), glue("gh", "p_", junk(36))];
  it("are the same for the same secret and differ for another", () => {
    const [first, again, second] = redactSecrets(`${one}\n${one}\n${other}`).split("\n");
    expect(first).toBe(again);
    expect(first).not.toBe(second);
  });

  it.each([
    "curl -u [REDACTED:aws-key#5439] https://example.test",
    "SENTRY_DSN=https://[REDACTED:url-token#d292]@example.test/4",
    "postgres://app:[REDACTED:url-password#150f]@db/app",
    'password: "[REDACTED:password#6c54]"',
    "Authorization: Bearer [REDACTED:bearer-token#d38d]",
  ])("are no secrets themselves: %s", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it("without a key are those of an empty one", () => {
    expect(redactSecrets(one)).toBe(redactSecrets(one, { key: "" }));
  });

  it("differ under another key", () => {
    expect(redactSecrets(one, { key: "a" })).not.toBe(redactSecrets(one, { key: "b" }));
  });
});

describe("any text", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...[
        "password",
        "API_KEY",
        "token",
        "Authorization",
        "Bearer ",
        "Basic ",
        "Cookie:",
        "value",
        "name",
        "is ",
      ],
      ...[
        "=",
        ":",
        ": ",
        " ",
        "\n",
        '"',
        "'",
        "\\",
        "\\n",
        "://",
        "@",
        "a:b@",
        "(",
        ",",
        ";",
        "&",
        "?",
        "|",
        "~",
        "$",
      ],
      ...[
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "[REDACTED:aws-key#a1b2]",
        "[REDACTED:",
        "]",
      ],
      ...["-p", "mysql ", "--password ", "-u ", "<password>", "</", ".", "-", "_", "+", "/", "%3A", "😀"],
    ),
    fc.constantFrom(...TOKENS).map(([, make]) => make()),
    fc.constantFrom(20, 40, 64).map((chars) => junk(chars)),
    fc.string({ unit: "binary", maxLength: 6 }),
  );

  it("is redacted once and for all, and grows by nothing but placeholders", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        const redacted = redactSecrets(text);
        expect(redactSecrets(redacted)).toBe(redacted);
        expect(redacted.replace(PLACEHOLDER, "").length).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: runs(10_000) },
    );
  });

  it.each([
    ...[
      "a",
      "/",
      "key=",
      "password=",
      "password: ",
      'token="',
      'password=\\"',
      "cookie:a=",
      "Cookie:",
      "://a:b",
    ],
    ...[
      "-----BEGIN PRIVATE KEY-----\n",
      "-----END PRIVATE KEY-----",
      "Private-Lines: 2\nAAAA",
      "eyJaaaaaaaaaa.",
    ],
    ...[
      "sk-",
      "fm2_aaaaaaaaaaaaaaaa/",
      "Bearer aaaaaaaaaaaaaaaa ",
      "(password('",
      "<password>",
      "[REDACTED:",
    ],
  ])("made of one piece a hundred thousand times ends: %j", (unit) => {
    const redacted = redactSecrets(unit.repeat(runs(100_000)));
    expect(redactSecrets(redacted)).toBe(redacted);
  });

  it("that is one run of half a million tokens ends", () => {
    expect(redactSecrets("eyJaaaaaaaaaa.".repeat(runs(500_000)))).not.toContain("eyJa");
  });

  it("with ten thousand secrets loses every one", () => {
    const count = runs(10_000);
    const secrets = Array.from({ length: count }, () => glue("gh", "p_", junk(36)));
    const { text, found } = redactSecretsWithReport(secrets.map((secret) => `T=${secret}`).join("\n"));
    expect(found).toEqual([{ type: "github-token", count }]);
    expect(text.replace(PLACEHOLDER, "").replace(/T=\n?/g, "")).toBe("");
  });
});
