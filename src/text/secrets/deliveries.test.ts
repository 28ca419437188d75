import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  DELIVERIES,
  FAMILIES,
  junkOf,
  passwordCases,
  piecesOf,
  SPECIALS,
  wrapped,
} from "../../../test/rig/secret-families.ts";
import { redactSecrets } from "./redact-secrets.ts";

const IS_LONG = process.env.CARRYOVER_LONG !== undefined;
const ROUNDS = IS_LONG ? 40 : 2;

/** How many of the texts were redacted, in percent, and the first ones that were not. */
function rateOf(results: readonly (readonly [text: string, isHidden: boolean])[]) {
  const missed = results.filter(([, isHidden]) => !isHidden).map(([text]) => text);
  return { percent: 100 - (100 * missed.length) / results.length, missed: missed.slice(0, 5) };
}

describe("of secrets of every family", () => {
  it.each(DELIVERIES)("98 % are hidden in: $name", (delivery) => {
    const junk = junkOf(7);
    const results = FAMILIES.flatMap(([, make]) =>
      Array.from({ length: ROUNDS }, () => {
        const { text, secrets } = make(junk);
        const printed = delivery.print(text);
        const redacted = redactSecrets(printed);
        const isEncoded = delivery.name.startsWith("base64");
        const pieces = isEncoded ? printed.trim().split("\n") : secrets.flatMap((s) => piecesOf(s, delivery));
        return [printed, pieces.every((piece) => !redacted.includes(piece))] as const;
      }),
    );
    const { percent, missed } = rateOf(results);
    expect(percent, missed.join("\n")).toBeGreaterThanOrEqual(98);
  });

  it.each([
    ...["\n", "\\\n", "\n    ", "\r\n", "\n> "].map((lineBreak) => ["", lineBreak] as const),
    // Both lines begin with what the program prints before each.
    ...["+", "-", "# ", "// ", " * ", "-- ", "│ ", "web-1  | ", "00012| ", "    12→", "    12\t"].map(
      (mark) => [mark, `\n${mark.replace("12", "13")}`] as const,
    ),
    ["src/a.env:12:", "\nsrc/a.env:13:"] as const,
    ["2026-11-15T17:00:12.123Z ", "\n2026-11-15T17:00:12.456Z "] as const,
    ["│ ", " │\n│ "] as const,
  ])("98 of 100 are hidden behind %j when broken by %j", (mark, lineBreak) => {
    const junk = junkOf(11);
    // A name on the line before is one line too far where each line has a mark.
    const isOne = (name: string) =>
      !/^(?:key|solana)/.test(name) && (mark === "" || !/^(?:list|terraform)$/.test(name));
    const results = FAMILIES.filter(([name]) => isOne(name)).flatMap(([, make]) =>
      Array.from({ length: ROUNDS }, () => {
        const made = make(junk);
        const text = `${mark}log ${wrapped(made, lineBreak)} end`;
        const redacted = redactSecrets(text);
        const pieces = made.secrets.flatMap((s) => [s.slice(0, s.length >> 1), s.slice(s.length >> 1)]);
        return [text, pieces.every((piece) => !redacted.includes(piece))] as const;
      }),
    );
    const { percent, missed } = rateOf(results);
    expect(percent, missed.join("\n")).toBeGreaterThanOrEqual(98);
  });

  it.each(['"\n  "', '" +\n  "', '" .\n  "'])(
    "98 of 100 are hidden in a string in code broken by %j",
    (joint) => {
      const junk = junkOf(17);
      const results = FAMILIES.filter(([name]) => !/^(?:key|solana)/.test(name)).flatMap(([, make]) =>
        Array.from({ length: ROUNDS }, () => {
          const {
            secrets: [secret = ""],
          } = make(junk);
          if (/["'\\]/.test(secret) || secret.length < 20) return [];
          const middle = secret.length >> 1;
          const [first, last] = [secret.slice(0, middle), secret.slice(middle)];
          const text = `const apiSecret = "${first}${joint}${last}";`;
          const redacted = redactSecrets(text);
          return [[text, !redacted.includes(first) && !redacted.includes(last)] as const];
        }).flat(),
      );
      const { percent, missed } = rateOf(results);
      expect(percent, missed.join("\n")).toBeGreaterThanOrEqual(98);
    },
  );

  it("98 % of passwords are hidden whole, whatever mark they hold, in every place", () => {
    const junk = junkOf(13);
    const results = SPECIALS.flatMap((special) =>
      Array.from({ length: ROUNDS }, () => passwordCases(junk, special)).flat(),
    ).map(({ text, secrets: [secret = ""] }) => {
      const redacted = redactSecrets(text);
      return [text, !redacted.includes(secret.slice(0, 7)) && !redacted.includes(secret.slice(8))] as const;
    });
    const { percent, missed } = rateOf(results);
    expect(percent, missed.join("\n")).toBeGreaterThanOrEqual(98);
  });
});

// Glued from pieces, so that no scanner takes this file for a leak.
const begin = ["-----BEGIN ", "PRIVATE", " KEY-----"].join("");
const token = ["gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");

describe("what only looks like a secret stays as it is", () => {
  it.each([
    `if (pem.includes("${begin}")) {\n  return readPrivateKeyFromTextOfPemEncodedFile(pem);\n}`,
    `${begin}\nSee https://example.test/docs/security/keys/private/format/of/the/file\nand more.`,
    "password: options.password,\n  host: a",
    "password: z.string().min(8).max(100),",
    "password: hashSync(user1,16),",
    "const { password = getPassword2(user, Options) } = this;",
    "password: { type: String, required: true },",
    "--password=$DB_PASSWORD --user=x",
    "login(password=user.password, next=url)",
    "GET /search?q=the%20key%20of%20success&amp;page=2",
    "&lt;input type=&quot;password&quot; name=&quot;password1&quot;&gt;",
    "printf('%20s token=%2d', name, count2)",
    '{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}',
    '{"d":"M10 10h20v20H10zM30 30h4v4a1B2"}',
    `const IP = [${Array.from({ length: 64 }, (_, index) => ((index * 7) % 64) + 1).join(", ")}];`,
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-Ab3dE9",
    "token refreshed\n9f8e7d6c5b4a3928 done",
    "the key\n2026-11-15T17:00:00.123Z next line",
    "jdbc:oracle:thin:@db.internal:1521:orcl",
    "src/auth.ts:3:  apiKey: string;",
    "image: x+AKIAQZKXJVWPFHGBTRLDQZ/a",
    "const{password:Pa1,token:T2}=e,Q3={password:Pa1||R4.S5,auth:U6(V7)};",
    "password: Rows2[index + 1],",
    "password: Types2|undefined;",
    "password: Yup.string().oneOf([Yup.ref('password1'), null]),",
    "password: Optional[Str1]=None",
    "connect(password=getPassword2(User, 4), timeout=10)",
    "apiKeys: APIKeysAPI.APIKeys;",
    'variable "db_password" {\n  type = string\n}\nx { default = "eu-central-1" }',
    "// the password is checked\n// readFile2 does it",
    "12: password\n13: Reset3 done",
    'const password = "the one that " +\n  "userInput2 gives";',
    'token: "",\nname: ""',
    "password = ConvertTo-SecureString $plain2 -AsPlainText",
    "url_name_pat: compiled",
    "process class bypass compass2",
    "the key\nValue2 follows\npassword\nReset3 done",
    "+the token\n+4f5e6d7c is the commit",
    "text=Hello+World%2C+the+key+of+success&token_count=2",
    Buffer.from("An ordinary text about keys and tokens, which is no secret at all. ".repeat(4))
      .toString("base64")
      .replace(/.{76}/g, "$&\n"),
  ])("%s", (text) => expect(redactSecrets(text)).toBe(text));

  it("tokens on lines of their own stay on them", () => {
    const lines = redactSecrets([token, token, `T=${token}`, "end"].join("\n")).split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe(lines[1]);
  });

  it.each(["\\", "%3D", "&#x3d;"])("a million characters of %s, which are read once", (unit) => {
    const text = unit.repeat(1_000_000 / unit.length);
    expect(redactSecrets(text) === text).toBe(true);
  });

  it("nothing changes in the packages that are installed here", { timeout: 120_000 }, () => {
    let totalChars = 0;
    for (const text of installedTexts(IS_LONG ? 7_000_000 : 700_000)) {
      totalChars += text.length;
      if (redactSecrets(text) !== text) expect(redactSecrets(text)).toBe(text);
    }
    expect(totalChars).toBeGreaterThan(IS_LONG ? 6_000_000 : 600_000);
  });
});

const MAX_FILE_CHARS = 60_000;

/** Texts of installed packages in the order of their names: a few files of each, until there are enough. */
function* installedTexts(maxChars: number): Generator<string> {
  const root = realpathSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)));
  let totalChars = 0;
  for (const name of readdirSync(root).sort()) {
    if (name.startsWith(".")) continue;
    let files = 0;
    for (const path of filesOf(`${root}/${name}`)) {
      const text = readFileSync(path, "utf8").slice(0, MAX_FILE_CHARS);
      yield text;
      totalChars += text.length;
      if (totalChars >= maxChars) return;
      if (++files >= (IS_LONG ? 40 : 4)) break;
    }
  }
}

function* filesOf(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory() && entry.name !== "node_modules") yield* filesOf(path);
    else if (entry.isFile() && /\.(?:[cm]?js|ts|json|md|txt|ya?ml|css|html)$/.test(entry.name)) yield path;
  }
}
