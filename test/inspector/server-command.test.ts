import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "../rig/build-cli.ts";
import { builtPage } from "./server-built-page.ts";
import { tokenOf } from "./server-support.ts";

const KEY = ["sk", "ant", "api03", "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LzXcVbNmQwErTy"].join("-");
const folder = mkdtempSync(join(tmpdir(), "carryover-serve-"));
const sample = join(folder, "session.json");
let cli: string;

beforeAll(async () => {
  builtPage();
  cli = await buildCli("cli-inspector-serve");
  const messages = [{ info: { id: "a", role: "user" }, parts: [{ type: "text", text: `Use ${KEY}.` }] }];
  writeFileSync(sample, JSON.stringify({ info: { id: "ses_1" }, messages }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A command that serves, and what it has written so far. */
interface Serving {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly address: string;
  readonly ended: Promise<number | null>;
}

async function serve(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Serving> {
  const child = spawn(process.execPath, [cli, "inspect", sample, ...args], {
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const hear = (text: string): void => {
    output += text;
  };
  child.stdout.setEncoding("utf8").on("data", hear);
  child.stderr.setEncoding("utf8").on("data", hear);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const address = (): string => /^Page: (http\S+)\n/m.exec(output)?.[1] ?? "";
  await expect.poll(address, { timeout: 30_000 }).not.toBe("");
  return { child, output: () => output, address: address(), ended };
}

/** What the page gets. */
async function pageData(address: string): Promise<string> {
  const { origin } = new URL(address);
  const entered = await fetch(`${origin}/api/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: tokenOf(address) }),
  });
  const { token } = (await entered.json()) as { readonly token: string };
  const headers = { authorization: `Bearer ${token}` };
  const answers = ["/api/session", "/api/messages"].map((path) => fetch(origin + path, { headers }));
  return `${token} ${(await Promise.all((await Promise.all(answers)).map((answer) => answer.text()))).join("")}`;
}

describe("carryover inspect --open", () => {
  it("says which session it is and prints one address, serves until Ctrl-C, and names no token anywhere else", async () => {
    const serving = await serve(["--open"]);
    const data = await pageData(serving.address);
    const [sessionToken = ""] = data.split(" ");
    expect(data).toContain("[REDACTED:");
    expect(data).not.toContain(KEY);
    serving.child.kill("SIGINT");
    expect(await serving.ended).toBe(0);
    const output = serving.output();
    expect(output).toContain("ses_1");
    expect(output).not.toContain("What fills it");
    expect(output.split(tokenOf(serving.address))).toHaveLength(2);
    expect(output).not.toContain(sessionToken);
    expect(output).not.toContain(KEY);
  });

  it("opens the browser with that address", async () => {
    const browser = join(folder, "browser.sh");
    const opened = join(folder, "opened.txt");
    writeFileSync(browser, `#!/bin/sh\necho "$1" > '${opened}'\n`, { mode: 0o755 });
    const serving = await serve(["--open"], { BROWSER: browser });
    await expect
      .poll(() => existsSync(opened) && readFileSync(opened, "utf8"), { timeout: 30_000 })
      .toBe(`${serving.address}\n`);
    serving.child.kill("SIGTERM");
    expect(await serving.ended).toBe(0);
  });

  it("ends well by a signal that comes with the first thing it shows", async () => {
    const browser = join(folder, "impatient-browser.sh");
    writeFileSync(browser, "#!/bin/sh\nkill -TERM $PPID\n", { mode: 0o755 });
    const endings = await Promise.all(
      Array.from({ length: 4 }, async () => (await serve(["--open"], { BROWSER: browser })).ended),
    );
    expect(endings).toEqual([0, 0, 0, 0]);
  });

  it("serves on the port that is asked for, and says when that is taken", async () => {
    const serving = await serve(["--port", "0", "--no-redact"]);
    expect(await pageData(serving.address)).toContain(KEY);
    const { port } = new URL(serving.address);
    const second = spawn(process.execPath, [cli, "inspect", sample, "--port", port], {
      env: { PATH: process.env.PATH, HOME: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    second.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    expect(await new Promise((resolve) => second.once("close", resolve))).toBe(2);
    expect(said).toContain(`error: Cannot listen on port ${port}: it is in use`);
    serving.child.kill("SIGINT");
    expect(await serving.ended).toBe(0);
  });
});
