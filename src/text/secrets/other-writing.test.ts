import { describe, expect, it } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";

// Glued from pieces, so that no scanner takes this file for a leak.
const k16 = "k8Jd2Qw9LmZx4VbT";
const k20 = `${k16}7rPz`;
const k32 = `${k20}hG5nYc3WsX1q`;
const line = k32 + k32;
const short = line.slice(0, 24);
const token = ["gh", "p_", k32, "abcd"].join("");
const [head, tail] = [token.slice(0, 22), token.slice(22)];
const begin = ["-----BEGIN ", "PRIVATE", " KEY-----"].join("");
const end = ["-----END ", "PRIVATE", " KEY-----"].join("");

/** The text with each secret as its type in angle brackets. */
function shown(text: string): string {
  return redactSecrets(text).replace(/\[REDACTED:([a-z\d-]+)#[\da-f]{4}\]/g, "«$1»");
}

type Case = readonly [text: string, shown: string];
const same = (text: string): Case => [text, text];

describe("a secret in escapes", () => {
  it.each<Case>([
    ["first line\npassword%3Dhunter22x\nlast", "first line\npassword%3D«password»\nlast"],
    ["%3Fpassword%3Dhunter22x%26a%3D1", "%3Fpassword%3D«password»%26a%3D1"],
    ["&quot;password&quot;:&quot;hunter22x&quot;", "&quot;password&quot;:&quot;«password»&quot;"],
    ["\\u0022password\\u0022:\\u0022hunter22x\\u0022", "\\u0022password\\u0022:\\u0022«password»\\u0022"],
    [`&#34;token&#34;: &#34;${k20}&#34;`, "&#34;token&#34;: &#34;«token»&#34;"],
    [`%7B%22token%22%3A%22${k20}%22%7D`, "%7B%22token%22%3A%22«token»%22%7D"],
    [`text%3Da+b&token%3D${k20}+x`, "text%3Da+b&token%3D«token»+x"],
    ["https%3A%2F%2Fbob%3Ahunter22x%40a.test", "https%3A%2F%2Fbob%3A«url-password»%40a.test"],
    same(`https%3A%2F%2F${k16}%40a.test`),
    ["password=hunter%3222x;", "password=«password»;"],
    ["x=%41\npassword=hunter22x", "x=%41\npassword=«password»"],
    [`a=%20 ${token} %20`, "a=%20 «github-token» %20"],
  ])("%s", (text, expected) => expect(shown(text)).toBe(expected));
});

describe("a secret that goes on in the next line", () => {
  it.each<Case>([
    [`${head}\n${tail}`, "«github-token»"],
    [`export TOKEN=${head}\n${tail}`, "export TOKEN=«github-token»"],
    [`x {\n  "${"aio"}_sN4QXhgTWd48"\n  "NpqIM5bMdiLSC9z7";`, 'x {\n  "«adafruit-key»";'],
    [`${head}\\\n${tail}`, "«github-token»"],
    [`"${head}" +\n  "${tail}"`, '"«github-token»"'],
    [`# ${head}\n# ${tail}`, "# «github-token»"],
    [`+ ${head}\n+ ${tail}`, "+ «github-token»"],
    [`│ ${head} │\n│ ${tail} │`, "│ «github-token» │"],
    [`12:00:01 ${head}\n12:00:02 ${tail}`, "12:00:01 «github-token»"],
    [`00012| ${head}\n00013| ${tail} end`, "00012| «github-token» end"],
    [`token: ${k16}\r\n${k16}`, "token: «token»"],
    [`api_key="${k16}\n${k16}"`, 'api_key="«api-key»"'],
    [`<token>${k16}\n${k16}</token>`, "<token>«token»</token>"],
    ["<password>hun\n  ter22x</password>", "<password>«password»</password>"],
    ["password: hunter22xK\n9dLw2", "password: «password»"],
    ["password: hexK\n9dLw2", "password: «password»"],
    ["token=9f8e7d6c5b4a3928\n1706f5e4d3c2b1a0", "token=«token»"],
    ["bindpw blqz337-I\nWEQlibj", "bindpw «password»"],
    ["https://bob:HUnter\n22xyz@a.test/", "https://bob:«url-password»@a.test/"],
    [`token: ${k16} |\n${k16}`, "token: «token»"],
    [["AK", "IAABCDE\r\nFGHIJ234567"].join(""), "«aws-key»"],
    [
      `log ey${"J"}jLy0dbuMLjrSFdQo8Beyh8Dy6BtYUh.ey${"J"}jAqo6BMY6okhbZb4AOFWieM\nNljkyJ8nnlOxQYlV8.QpVuVr6HAYSJCa9KIZNULIeYW1Y50DeVBzu`,
      "log «jwt»",
    ],
  ])("%s", (text, expected) => expect(shown(text)).toBe(expected));

  it.each<Case>([
    [`${token}\n${token}`, "«github-token»\n«github-token»"],
    [`token: ${k16}\nnext_name=${k32}`, `token: «token»\nnext_name=${k32}`],
    [
      `client_secret: ${k16}\nemxzJR0t2qns:unl7zbR8 end`,
      "client_secret: «secret»\nemxzJR0t2qns:unl7zbR8 end",
    ],
    [`token: ${k16}\n--flag1`, "token: «token»\n--flag1"],
    ["password: hunter22x\nNEXT1 thing", "password: «password»\nNEXT1 thing"],
    ["admin_pw: qela228!R\nDDAqj", "admin_pw: «password»\nDDAqj"],
    ["x-api-key: 2001c3048651ae0c\n4e6ac", "x-api-key: «api-key»\n4e6ac"],
    same("bindpw oysc756(A\n--0013| VAYgknq34 end"),
    same("https://bob:hunter\n22xyz@a.test/"),
    same(`"${head}" +\n ${tail}"`),
    [
      "x-api-key: 2001c3048651ae0c\n2026-11-15T17:00:12.456Z 4e6acacd565b3768 end",
      "x-api-key: «api-key»\n2026-11-15T17:00:12.456Z 4e6acacd565b3768 end",
    ],
  ])("no part of it is another line: %s", (text, expected) => expect(shown(text)).toBe(expected));
});

describe("a private key", () => {
  it.each<Case>([
    [`${line}\\n${line}\\n${end}`, "«private-key»"],
    [`${line}\n${line}\n${end}\nafter`, "«private-key»\nafter"],
    same(`${k20}\n${end}`),
    [`${line}\n10:02 log ${end}`, "«private-key»"],
    same(`${line}\n${line}\n-----END CERTIFICATE-----`),
    same(`-----BEGIN PUBLIC KEY-----\n${line}\n-----END PUBLIC KEY-----`),
    same(`---- BEGIN SSH2 PUBLIC KEY ----\nComment: x\n${line}\n${line}\n---- END SSH2 PUBLIC KEY ----`),
    [`log ${short}\nlog ${short}\nlog ${end}`, "log «private-key»"],
    [`app: ${begin}\napp: ${short}\napp: ${short}\napp: ${end}`, "app: «private-key»"],
    [`-${begin.slice(2, -1)}\n${line}\n-${end.slice(2, -1)}`, "«private-key»"],
    [`"${begin}\\n${line}\\n${line}\\n${end}\\n"`, '"«private-key»\\n"'],
    [
      `key.pem-7-${begin}\nkey.pem-8-${line}\nkey.pem-9-${line}\nkey.pem-10-${end}\nafter`,
      "key.pem-7-«private-key»\nafter",
    ],
    [
      `2026-01-01 app: ${begin}\n2026-01-01 app: ${line}\n2026-01-01 app: ${k16}==\n2026-01-01 app: ${end}`,
      "2026-01-01 app: «private-key»",
    ],
    [`10:00 log ${line}\n10:01 log ${line}\n10:02 log ${end}`, "10:00 log «private-key»"],
    [`${begin}\n${line}\n${begin}\n${line}\n${line}\n${end}`, "«private-key»\n«private-key»"],
    [`${begin}\nVersion: GnuPG v2\n\n${line}\nk8Jd2ITQlzyg72"\n}`, '«private-key»\nk8Jd2ITQlzyg72"\n}'],
    [`${begin}\nCont: x\n${line}\n${end}`, `${begin}\nCont: x\n«private-key»`],
    [
      `---- BEGIN SSH2 ENCRYPTED ${"PRIVATE"} KEY ----\nComment: x\n${line}\n---- END SSH2 ENCRYPTED ${"PRIVATE"} KEY ----`,
      "«private-key»",
    ],
  ])("%s", (text, expected) => expect(shown(text)).toBe(expected));

  it.each(["N", "D"])("is not begun by a token that ends in %s", (last) => {
    expect(shown(`${token.slice(0, -1)}${last}`)).toBe("«github-token»");
  });
});

describe("a secret in lines of base64", () => {
  const encode = (text: string) => Buffer.from(text).toString("base64");
  const settings =
    "# settings of the app\nDB_HOST=a.test\nDB_PASSWORD=hunter22x!\nDB_NAME=the name of the database\n";

  it.each([
    ["of 64 characters", /(.{64})/g, "\n"],
    ["of 76 characters", /(.{76})/g, "\r\n"],
  ])("%s is found whole", (_, width, lineBreak) => {
    const lines = encode(settings).replace(width, `$1${lineBreak}`);
    expect(shown(`data ${lines}\nnext`)).toBe("data «encoded-secret»\nnext");
  });

  it("is no part of something longer", () => {
    expect(shown(`a+${encode(settings)}`)).toBe(`a+${encode(settings)}`);
    const padded = encode(settings).replace(/^.{50}/, "$&=");
    expect(shown(padded)).toBe(padded);
    expect(shown(`\r\n${encode(settings)}\n`)).toBe("\r\n«encoded-secret»\n");
  });
});
