import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { explainCost } from "../../src/cost/explain-cost.ts";
import { escapeJsonForHtml, renderSingleFile } from "../../src/inspector/server/page-html.ts";
import type { InspectedSession } from "../../src/inspector/view/types.ts";
import { buildCli } from "../rig/build-cli.ts";
import { createCliRunner } from "../rig/run-cli.ts";
import { builtPage } from "./server-built-page.ts";
import { messageOf, sessionOf } from "./server-support.ts";

const KEY = ["sk", "ant", "api03", "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LzXcVbNmQwErTy"].join("-");
const folder = mkdtempSync(join(tmpdir(), "carryover-html-"));
let cli: string;
const carryover = createCliRunner(() => cli);
const sample = join(folder, "session.json");

beforeAll(async () => {
  builtPage();
  cli = await buildCli("cli-inspector-html");
  const messages = [
    { info: { id: "a", role: "user" }, parts: [{ type: "text", text: `Use ${KEY}. </script><b>&` }] },
    { info: { id: "b", role: "assistant" }, parts: [{ type: "text", text: "\u2028 I will \u2029" }] },
  ];
  writeFileSync(sample, JSON.stringify({ info: { id: "ses_1", title: `With ${KEY}` }, messages }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function dataOf(html: string): InspectedSession {
  const block = /<script type="application\/json" id="carryover-data">(.*?)<\/script>/s.exec(html)?.[1];
  return (JSON.parse(block ?? "") as { readonly session: InspectedSession }).session;
}

describe("carryover inspect --html", () => {
  it("prints the table as always, writes one file that only its owner may read, and says where", async () => {
    const out = join(folder, "page.html");
    const plain = await carryover(["inspect", sample]);
    const { status, stdout, stderr } = await carryover(["inspect", sample, "--html", out]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toBe(`${plain.stdout}Page: ${out}\n`);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    const html = readFileSync(out, "utf8");
    expect(dataOf(html)).toMatchObject({ sessionId: "ses_1", format: "opencode", redactedSecrets: 2 });
    expect(html).not.toContain(KEY);
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html).not.toMatch(/ (src|href)="(?!data:,")/);
  });

  it("shows secrets only when it is asked to", async () => {
    const out = join(folder, "open.html");
    await carryover(["inspect", sample, "--html", out, "--no-redact"]);
    const session = dataOf(readFileSync(out, "utf8"));
    expect(session).toMatchObject({ title: `With ${KEY}`, redactedSecrets: 0 });
    expect(session.transcript[0]?.parts[0]).toEqual({ type: "text", text: `Use ${KEY}. </script><b>&` });
  });

  it("leaves what a program reads alone", async () => {
    const out = join(folder, "json.html");
    const plain = await carryover(["inspect", sample, "--json"]);
    const { stdout, stderr } = await carryover(["inspect", sample, "--json", "--html", out]);
    expect(stdout).toBe(plain.stdout);
    expect(stderr).toBe(`Page: ${out}\n`);
  });

  it("says why it cannot write", async () => {
    const out = join(folder, "nowhere", "page.html");
    const { status, stderr } = await carryover(["inspect", sample, "--html", out]);
    expect(status).toBe(2);
    expect(stderr).toContain(`error: Cannot write ${out}`);
  });

  it("takes 10,000 messages of 2 KB", async () => {
    const long = join(folder, "long.json");
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      info: { id: `msg_${index}`, role: index % 2 === 0 ? "user" : "assistant" },
      parts: [{ type: "text", text: `message ${index} `.padEnd(2_000, "word ") }],
    }));
    writeFileSync(long, JSON.stringify({ info: { id: "ses_long" }, messages }));
    const out = join(folder, "long.html");
    const { status } = await carryover(["inspect", long, "--html", out]);
    expect(status).toBe(0);
    expect(dataOf(readFileSync(out, "utf8")).transcript).toHaveLength(10_000);
  });
});

describe("the single file", () => {
  const assets = { script: 'const end = "</script><!--";', style: 'a::after { content: "</style>" }' };

  const textOf = (session: InspectedSession): string => [...renderSingleFile(session, assets)].join("");

  it("has a session of any length as it is", () => {
    for (const count of [0, 1, 200, 201, 450]) {
      const session = { ...sessionOf(count), problems: [], cost: explainCost([]) };
      expect(dataOf(textOf(session))).toEqual(session);
    }
  });

  it("cannot be ended early by its own script or style", () => {
    const html = textOf(sessionOf(1));
    expect(html.match(/<\/script>/g)).toHaveLength(2);
    expect(html.match(/<\/style>/g)).toHaveLength(1);
    expect(html).not.toContain("<!--");
  });

  it.each(["</script>", "<!--", "]]>", "&lt;", "\u2028", "\u2029", "\ud800", "\0", "a\\u003cb"])(
    "gives %j back as it was",
    (text) => {
      const session = { ...sessionOf(0), transcript: [messageOf(0, text)] };
      const html = textOf(session);
      expect(dataOf(html)).toEqual(session);
      expect([...escapeJsonForHtml(session)].join("")).not.toMatch(/[<>&\u2028\u2029]/);
    },
  );

  it("allows nothing but its own script and style", () => {
    const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(textOf(sessionOf(1))) ?? [];
    expect(policy.replace(/sha256-[\w+/=]{44}/g, "HASH")).toBe(
      "default-src 'none'; script-src 'HASH'; worker-src blob:; style-src 'HASH'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types carryover-engine",
    );
  });
});
