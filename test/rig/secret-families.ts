/**
 * Families of made-up secrets and the ways in which a tool's output delivers them. Values are drawn from a seed and
 * prefixes are glued, so that no scanner takes this file for a leak.
 */

/** One way in which a program prints a secret: the text, and what in it must not be read afterwards. */
export interface SecretCase {
  readonly text: string;
  readonly secrets: readonly string[];
}

/** Draws values of one seed. */
export type Junk = (chars: number, alphabet?: string) => string;

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const ALPHANUMERIC = LOWER + UPPER + DIGITS;
const WORD = `${ALPHANUMERIC}_-`;
const BASE64 = `${ALPHANUMERIC}+/`;
/** What people and generators put into passwords besides letters and digits. */
export const SPECIALS: readonly string[] = [..."!@#$%^&*()-_=+[]{};:,.<>/?|~"];

/** A source of values that gives the same ones for the same seed. */
export function junkOf(seed: number): Junk {
  let state = seed;
  return (chars, alphabet = ALPHANUMERIC) => {
    let made = "";
    while (made.length < chars) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      made += alphabet.charAt((state >>> 8) % alphabet.length);
    }
    return made;
  };
}

const glue = (...pieces: readonly string[]): string => pieces.join("");

function password(junk: Junk, special: string): string {
  return `${junk(4, LOWER)}${junk(3, "23456789")}${special}${junk(4, UPPER)}${junk(4, LOWER)}${junk(2, "23456789")}`;
}

type Family = readonly [name: string, make: (junk: Junk) => SecretCase];

const one = (secret: string, text = secret): SecretCase => ({ text, secrets: [secret] });

const bare = (name: string, make: (junk: Junk) => string): readonly Family[] => [
  [name, (junk) => one(make(junk))],
];

const TOKENS: readonly Family[] = [
  ...bare("aws", (junk) => glue("AK", "IA", junk(16, `${UPPER}234567`))),
  ...bare("google", (junk) => glue("AI", "za", junk(35, WORD.replace("-", "")))),
  ...bare("github", (junk) => glue("gh", "p_", junk(36))),
  ...bare("github pat", (junk) => glue("github", "_pat_", junk(22), "_", junk(59))),
  ...bare("gitlab", (junk) => glue("gl", "pat-", junk(20))),
  ...bare("npm", (junk) => glue("np", "m_", junk(36))),
  ...bare("anthropic", (junk) => glue("sk-", "ant-api03-", junk(93), "-", junk(6), "AA")),
  ...bare("openai", (junk) => glue("sk-", "proj-", junk(74))),
  ...bare("huggingface", (junk) => glue("h", "f_", junk(34))),
  ...bare("slack bot", (junk) => glue("xo", "xb-", junk(12, DIGITS), "-", junk(12, DIGITS), "-", junk(24))),
  ...bare("slack cookie", (junk) => glue("xo", "xd-", junk(24), "%2B", junk(30), "%2F", junk(40), "%3D")),
  ...bare("stripe", (junk) => glue("sk", "_live_", junk(24))),
  ...bare("sendgrid", (junk) => glue("S", "G.", junk(22), ".", junk(43))),
  ...bare("telegram", (junk) => glue(junk(10, "123456789"), ":AA", junk(33, WORD.replace("-", "")))),
  ...bare("fcm", (junk) => glue("AA", "AA", junk(7), ":APA", "91b", junk(134))),
  ...bare("discord bot", (junk) => glue("MT", junk(22), ".", junk(6), ".", junk(38))),
  ...bare("discord user", (junk) => glue("mf", "a.", junk(84))),
  ...bare("mailchimp", (junk) => glue(junk(32, HEX), "-us", junk(1, "123456789"))),
  ...bare("terraform", (junk) => glue(junk(14), ".atl", "asv1.", junk(67))),
  ...bare("azure", (junk) => glue(junk(3), "8", "Q~", junk(34))),
  ...bare("devops", (junk) => glue(junk(52), "JQ", "QJ99", junk(26))),
  ...bare("launchdarkly", (junk) =>
    glue("sd", "k-", [8, 4, 4, 4, 12].map((chars) => junk(chars, HEX)).join("-")),
  ),
  ...bare("jwt", (junk) => glue("ey", "J", junk(30), ".ey", "J", junk(40), ".", junk(43))),
  ...bare("adafruit", (junk) => glue("ai", "o_", junk(28))),
  ...bare("zuplo", (junk) => glue("zp", "ka_", junk(32, HEX), "_", junk(8, HEX))),
  ...bare("edgedb", (junk) => glue("nb", "wt1_", junk(80))),
  ...bare("endor", (junk) => glue("en", "dr+", junk(16))),
  [
    "jwt in a header",
    (junk) => {
      const token = glue("ey", "J", junk(17), ".ey", "J", junk(60), ".", junk(43));
      return one(token, `Authorization: Bearer ${token}`);
    },
  ],
];

const NAMED: readonly Family[] = [
  [
    "x-api-key",
    (junk) => {
      const s = junk(32, HEX);
      return one(s, `x-api-key: ${s}`);
    },
  ],
  [
    "API_KEY",
    (junk) => {
      const s = junk(40);
      return one(s, `STRIPE_API_KEY=${s}`);
    },
  ],
  [
    "json token",
    (junk) => {
      const s = junk(40);
      return one(s, `{"access_token":"${s}"}`);
    },
  ],
  [
    "yaml token",
    (junk) => {
      const s = junk(40);
      return one(s, `  client_secret: ${s}`);
    },
  ],
  [
    "url password",
    (junk) => {
      const s = password(junk, "!");
      return one(s, `postgres://app:${s}@db.internal:5432/app`);
    },
  ],
  [
    "oracle thin",
    (junk) => {
      const s = password(junk, "-");
      return one(s, `jdbc:oracle:thin:scott/${s}@db.internal:1521:orcl`);
    },
  ],
  [
    "admin pw",
    (junk) => {
      const s = password(junk, "!");
      return one(s, `admin pw: ${s}`);
    },
  ],
  [
    "jwk",
    (junk) => {
      const s = junk(43, WORD.replace("-", ""));
      return one(s, `{"kty":"EC","crv":"P-256","x":"${junk(43)}","y":"${junk(43)}","d":"${s}"}`);
    },
  ],
  [
    "jwk symmetric",
    (junk) => {
      const s = junk(43);
      return one(s, `{"kty":"oct","k":"${s}","alg":"HS256"}`);
    },
  ],
  [
    "devops pat",
    (junk) => {
      const s = junk(52, `${LOWER}234567`);
      return one(s, `azure_devops_ext_pat: ${s}`);
    },
  ],
  [
    "django",
    (junk) => {
      const s = `django-insecure-${junk(10)}(${junk(38, `${LOWER}${DIGITS}@^&*(-_=+)`)}`;
      return one(s, `SECRET_KEY = "${s}"`);
    },
  ],
  [
    "laravel",
    (junk) => {
      const s = `${junk(43, BASE64)}=`;
      return one(s, `APP_KEY=base64:${s}`);
    },
  ],
  [
    "solana",
    (junk) => {
      const numbers = Array.from({ length: 64 }, () => Number.parseInt(junk(2, HEX), 16));
      return {
        text: `[${numbers.join(",")}]`,
        secrets: [numbers.slice(0, 16).join(","), numbers.slice(40, 60).join(",")],
      };
    },
  ],
  [
    "bearer",
    (junk) => {
      const s = junk(40);
      return one(s, `authorization: Bearer ${s}`);
    },
  ],
];

const PASSWORD_PLACES: readonly (readonly [name: string, wrap: (secret: string) => string])[] = [
  ["env", (s) => `DB_PASSWORD=${s}`],
  ["env quoted", (s) => `DB_PASSWORD='${s}'`],
  ["yaml", (s) => `password: ${s}`],
  ["json", (s) => JSON.stringify({ password: s })],
  ["option", (s) => `--password=${s}`],
  ["option blank", (s) => `mysqldump --password ${s} app`],
  ["connection string", (s) => `Server=db;User Id=sa;Password=${s};Encrypt=true`],
  ["code", (s) => `const c = { password: '${s}' }`],
  ["docker", (s) => `ENV MYSQL_ROOT_PASSWORD ${s}`],
  ["prose", (s) => `The root password is ${s} and it rotates`],
  ["redis", (s) => `requirepass ${s}`],
  ["ldap", (s) => `bindpw ${s}`],
  ["powershell", (s) => `$password = ConvertTo-SecureString "${s}" -AsPlainText`],
  ["mysql user", (s) => `ALTER USER 'a'@'%' IDENTIFIED BY '${s}';`],
  ["netrc", (s) => `machine api.internal login bob password ${s}`],
  ["php", (s) => `define('DB_PASSWORD', '${s}');`],
  ["list", (s) => `- name: DB_PASSWORD\n  value: "${s}"`],
  ["client", (s) => `mysql -uroot -p${s} app`],
  ["terraform", (s) => `variable "db_password" {\n  default = "${s}"\n}`],
  ["element", (s) => `<password>${html(s)}</password>`],
  ["pairs", (s) => `host=db user=app password=${s} dbname=app`],
  ["log", (s) => `level=debug msg="connecting" password=${s} attempt=1`],
];

const PASSWORDS: readonly Family[] = PASSWORD_PLACES.map(([name, wrap]) => [
  name,
  (junk) => {
    const secret = password(junk, SPECIALS[Number(junk(3, DIGITS)) % SPECIALS.length] ?? "!");
    return { text: wrap(secret), secrets: [name === "element" ? html(secret) : secret] };
  },
]);

function privateKey(label: string, lineChars: number, headers: readonly string[] = []): Family {
  return [
    `key ${label}${headers.length}`,
    (junk) => {
      const lines = Array.from({ length: 12 }, () => junk(lineChars, BASE64));
      const last = `${junk(20, BASE64)}==`;
      const begin = glue("-----BEGIN ", label, "PRIVATE", " KEY-----");
      const end = glue("-----END ", label, "PRIVATE", " KEY-----");
      return { text: [begin, ...headers, ...lines, last, end].join("\n"), secrets: lines };
    },
  ];
}

const KEYS: readonly Family[] = [
  privateKey("", 64),
  privateKey("RSA ", 64),
  privateKey("OPENSSH ", 70),
  privateKey("EC ", 64),
  privateKey("RSA ", 64, ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", ""]),
  [
    "key of ssh2",
    (junk) => {
      const lines = Array.from({ length: 9 }, () => junk(70, BASE64));
      const mark = (word: string) => glue("---- ", word, " SSH2 ENCRYPTED ", "PRIVATE", " KEY ----");
      return {
        text: [mark("BEGIN"), 'Comment: "rsa-key"', ...lines, mark("END")].join("\n"),
        secrets: lines,
      };
    },
  ],
];

/** Every family: tokens of vendors, values under a name, passwords with every special character, private keys. */
export const FAMILIES: readonly Family[] = [...TOKENS, ...NAMED, ...PASSWORDS, ...KEYS];
/** Passwords alone, with the special character given. */
export const passwordCases = (
  junk: Junk,
  special: string,
): readonly (SecretCase & { readonly name: string })[] =>
  PASSWORD_PLACES.map(([name, wrap]) => {
    const secret = password(junk, special);
    return { name, text: wrap(secret), secrets: [name === "element" ? html(secret) : secret] };
  });
/** Private keys alone. */
export const KEY_FAMILIES: readonly Family[] = KEYS;

type Encode = (text: string) => string;
interface Delivery {
  readonly name: string;
  /** What the program prints for a text. */
  readonly print: Encode;
  /** How a piece of the secret reads there. */
  readonly encode: Encode;
}

const plain: Encode = (text) => text;
const everyLine = (
  name: string,
  prefix: (index: number) => string,
  around: readonly [string, string] = ["", ""],
): Delivery => ({
  name,
  print: (text) =>
    around[0] +
    text
      .split("\n")
      .map((line, index) => prefix(index) + line)
      .join("\n") +
    around[1],
  encode: plain,
});
const html: Encode = (text) =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
const form: Encode = (text) => encodeURIComponent(text).replaceAll("%20", "+");
const json: Encode = (text) => JSON.stringify(text).slice(1, -1);
const pad = (index: number): string => String(index).padStart(2, "0");

/** How programs deliver a text: diffs, search results, logs, listings, and texts inside of other texts. */
export const DELIVERIES: readonly Delivery[] = [
  everyLine("plain", () => ""),
  everyLine("in a file", () => "", ["# settings\n", "\n# end\n"]),
  everyLine("diff, added", () => "+", ["diff --git a/x b/x\n@@ -0,0 +1,14 @@\n", "\n"]),
  everyLine("diff, removed", () => "-", ["diff --git a/x b/x\n@@ -1,14 +0,0 @@\n", "\n"]),
  everyLine("diff, context", () => " ", ["@@ -1,14 +1,15 @@\n", "\n+more\n"]),
  everyLine("combined diff", () => "++", ["@@@ -1,1 -1,1 +1,9 @@@\n", "\n"]),
  everyLine("plain diff", () => "< ", ["1,14d0\n", "\n"]),
  everyLine("grep -n", (index) => `${index + 3}:`),
  everyLine("grep -rn", (index) => `src/config/local.env:${index + 3}:`),
  everyLine("grep -H", () => "src/config/local.env:"),
  everyLine("ripgrep", (index) => `${index + 12}${index === 0 ? ":" : "-"}`, ["conf.d/app.env\n", ""]),
  everyLine("python log", () => "INFO:root:"),
  everyLine("grep -A", (index) => (index === 0 ? "conf.d/app.env:7:" : `conf.d/app.env-${index + 7}-`)),
  everyLine("grep -B", (index) => `conf.d/app.env-${index + 7}-`),
  everyLine("cat -n", (index) => `${String(index + 1).padStart(6)}\t`),
  everyLine("reading tool", (index) => `${String(index + 1).padStart(5)}→`),
  everyLine(
    "git blame",
    (index) => `9f8e7d6c (Ann Example 2026-11-15 17:00:${pad(index)} +0100 ${index + 1}) `,
  ),
  everyLine("docker logs", () => "web-1  | "),
  everyLine("journal", (index) => `Nov 15 17:00:${pad(index)} host app[1234]: `),
  everyLine("kubectl logs", (index) => `2026-11-15T17:00:${pad(index)}.123456Z stderr F `),
  everyLine("quoted mail", () => "> "),
  everyLine("comment", () => "// "),
  everyLine("string in code", () => '  "', ["const text =\n", '";']),
  {
    name: "CSV",
    print: (text) => `1,"${text.replaceAll('"', '""')}",x`,
    encode: (text) => text.replaceAll('"', '""'),
  },
  {
    name: "SQL row",
    print: (text) => `INSERT INTO a VALUES (1, '${text.replaceAll("'", "''")}');`,
    encode: (text) => text.replaceAll("'", "''"),
  },
  {
    name: "shell string",
    print: (text) => `echo '${text.replaceAll("'", "'\\''")}' >> x`,
    encode: (text) => text.replaceAll("'", "'\\''"),
  },
  everyLine("markdown", () => "", ["```\n", "\n```"]),
  {
    name: "lines of Windows",
    print: (text) => `# settings\r\n${text.replaceAll("\n", "\r\n")}\r\n`,
    encode: plain,
  },
  { name: "HTML", print: (text) => `<pre class="out">${html(text)}</pre>`, encode: html },
  { name: "HTML with tags", print: (text) => `<div><code>${html(text)}</code><br/></div>`, encode: html },
  {
    name: "URL-encoded",
    print: (text) => `GET /log?text=${encodeURIComponent(text)}&x=1 HTTP/1.1`,
    encode: encodeURIComponent,
  },
  {
    name: "form",
    print: (text) => `text=${form(`# settings\n${text}`)}&next=1`,
    encode: (text) => form(text),
  },
  { name: "JSON", print: (text) => JSON.stringify({ output: `ok\n${text}\n`, exit: 0 }), encode: json },
  {
    name: "JSON in JSON",
    print: (text) => JSON.stringify({ body: JSON.stringify({ output: text }) }),
    encode: (text) => json(json(text)),
  },
  {
    name: "base64",
    print: (text) => Buffer.from(`# settings of the app\n${text}\n`).toString("base64"),
    encode: plain,
  },
  {
    name: "base64 over lines",
    print: (text) =>
      Buffer.from(`# settings of the app\n${text}\n`).toString("base64").replace(/.{76}/g, "$&\n"),
    encode: plain,
  },
  {
    name: "base64 of addresses",
    print: (text) => Buffer.from(`# settings of the app\n${text}\n`).toString("base64url"),
    encode: plain,
  },
];

/** The pieces of a delivered secret that must not be read in the text afterwards. */
export function piecesOf(secret: string, delivery: Delivery): readonly string[] {
  const middle = secret.length >> 1;
  return [secret.slice(0, middle), secret.slice(middle)].map((piece) => delivery.encode(piece));
}

/** The text with its secrets broken in the middle, as a terminal or a mail breaks a long line. */
export function wrapped({ text, secrets }: SecretCase, lineBreak: string): string {
  let broken = text;
  for (const secret of secrets) {
    const middle = secret.length >> 1;
    broken = broken.replace(secret, () => secret.slice(0, middle) + lineBreak + secret.slice(middle));
  }
  return broken;
}
