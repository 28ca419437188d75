import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { formatOf, readTranscript } from "../src/formats/read-transcript.ts";
import { filterCompacted, findCompactionBoundary } from "../src/stages/boundary.ts";
import { isVisibleToModel, type Message, messageText, type Transcript } from "../src/transcript/message.ts";
import { boundFiles } from "./rig/bound-thinking/bound-files.ts";
import { buildCli } from "./rig/build-cli.ts";
import { cliSamples } from "./rig/cli-samples.ts";
import { type ModelServer, startModelServer } from "./rig/model-server/model-server.ts";
import { refuse, say } from "./rig/model-server/step.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-compact-"));
const samples = cliSamples();
const claudeCode = samples.find(({ format }) => format === "claude-code")?.text ?? "";
const SUMMARY = "## Objective\nTidy up the tables.\n\n## Done\n- All tables up to number twenty were read.";
let cli = "";
let model: ModelServer;
let path = "";
const carryover = createCliRunner(() => cli);

beforeAll(async () => {
  cli = await buildCli("cli-compact");
});
beforeEach(async () => {
  model = await startModelServer();
  path = join(mkdtempSync(join(folder, "case-")), "session.jsonl");
  writeFileSync(path, claudeCode, { mode: 0o600 });
});
afterEach(() => model.stop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const withModel = () => ["--keep", "2000", "--model", "some-model", "--url", model.url];

async function compacted(bytes: Uint8Array | string) {
  const { format, transcript } = await readTranscript(Buffer.from(bytes));
  const text = JSON.stringify(filterCompacted(transcript));
  return { format, messages: transcript.length, boundary: findCompactionBoundary(transcript), text };
}

describe("carryover compact", () => {
  it.each(samples.map((sample) => [sample.format, sample] as const))(
    "shows what it would do to %s, and does nothing",
    async (format, sample) => {
      writeFileSync(path, sample.text);
      const { status, stdout, stderr } = await carryover(["compact", path, "--keep", "2000", "--json"]);
      expect({ status, stderr }).toMatchObject({ status: 0 });
      const plan = JSON.parse(stdout);
      expect(plan).toMatchObject({ status: "planned", format, request: { omittedMessages: 0 } });
      expect(plan.summarized.messages).toBeGreaterThan(5);
      expect(plan.kept.messages).toBeGreaterThan(0);
      expect(plan.tokensAfter).toBeLessThan(plan.tokensBefore);
      expect(readFileSync(path, "utf8")).toBe(sample.text);
    },
  );

  it("tells a person the same", async () => {
    const { stdout } = await carryover(["compact", path, "--keep", "2000"]);
    expect(stdout).toMatch(/\nA compaction would leave\n {2}summed up +\d+ messages/);
    expect(stdout).toMatch(/\n {2}kept +\d+ messages {2,}word for word/);
    expect(stdout).toMatch(/\n {2}cleared +\d+ results/);
    expect(stdout).toContain("Nothing was done.");
  });

  it.each(samples.map((sample) => [sample.format, sample] as const))(
    "has a model sum up %s and writes it in its own format",
    async (format, sample) => {
      writeFileSync(path, sample.text);
      model.script([say(SUMMARY, { lane: "any" })]);
      const out = `${path}.compacted`;
      const { status, stderr } = await carryover(["compact", path, ...withModel(), "--out", out]);
      expect({ status, stderr }).toMatchObject({ status: 0 });
      const after = await compacted(readFileSync(out));
      expect(after).toMatchObject({ format });
      expect(after.text).toContain("All tables up to number twenty were read.");
      expect(after.text.length).toBeLessThan((await compacted(sample.text)).text.length);
      if (["opencode", "claude-code", "codex", "pi"].includes(format))
        expect(after.boundary).toBeGreaterThanOrEqual(0);
      const { faults } = formatOf(format);
      const wireOf = async (text: string) => (await readTranscript(Buffer.from(text))).wire;
      expect(faults(await wireOf(readFileSync(out, "utf8")))).toEqual(faults(await wireOf(sample.text)));
      expect(model.requests).toMatchObject([{ model: "some-model", body: { stream: true } }]);
      expect(readFileSync(path, "utf8")).toBe(sample.text);
    },
  );

  it.each(boundFiles({ model: "claude-opus-5-5" }).map((file) => [file.format, file] as const))(
    "leaves out of %s the thoughts of what stays that its model would refuse behind a summary",
    async (_, file) => {
      writeFileSync(path, file.text);
      expect(await file.goOn(file.text)).toMatchObject({ status: 200 });
      const { stdout } = await carryover(["compact", path, "--keep", "2000", "--local", "--json"]);
      const { text, thoughts, kept } = JSON.parse(stdout);
      expect((await compacted(text)).text).toContain("call_23");
      expect(kept.messages).toBeGreaterThan(1);
      expect(thoughts).toBeGreaterThan(1);
      expect(await file.thoughts(text)).toBe(0);
      expect(await file.goOn(text)).toMatchObject({ status: 200 });
    },
  );

  it.each([
    ...boundFiles({ model: "claude-opus-4-6" }).filter(({ format }) => format !== "ai-sdk"),
    ...boundFiles({ model: "deepseek-v4-pro" }).filter(({ format }) => format === "pi"),
  ])("keeps in $format the thoughts that its model takes", async (file) => {
    writeFileSync(path, file.text);
    const { stdout } = await carryover(["compact", path, "--keep", "2000", "--local", "--json"]);
    const { text, thoughts } = JSON.parse(stdout);
    expect(thoughts).toBe(0);
    expect(await file.thoughts(text)).toBeGreaterThan(1);
  });

  it("says how many thoughts are left out", async () => {
    const [file] = boundFiles({ model: "claude-opus-5-5" });
    writeFileSync(path, file?.text ?? "");
    const { stdout } = await carryover(["compact", path, "--keep", "2000"]);
    expect(stdout).toMatch(
      /\n {2}left out +\d+ thoughts +in what is kept: its model refuses them behind a summary/,
    );
  });

  it("prints the session where no place is named, and the report beside it", async () => {
    model.script([say(SUMMARY, { lane: "any" })]);
    const { stdout, stderr } = await carryover(["compact", path, ...withModel()]);
    expect((await compacted(stdout)).boundary).toBeGreaterThanOrEqual(0);
    expect(stderr).toMatch(/\nCompacted\n[\s\S]*\nSummary\n {2}## Objective/);
  });

  it("gives a program the report and the session in one", async () => {
    const { stdout } = await carryover(["compact", path, "--keep", "2000", "--local", "--json"]);
    const { text, summaryBy, ...report } = JSON.parse(stdout);
    expect(report).toMatchObject({ status: "compacted", format: "claude-code" });
    expect(summaryBy).toBe("local");
    expect((await compacted(text)).boundary).toBeGreaterThanOrEqual(0);
  });

  it("writes into the file itself only when asked to, whole, with a copy beside it", async () => {
    for (const backup of [`${path}.bak`, `${path}.bak1`]) {
      writeFileSync(path, claudeCode, { mode: 0o600 });
      model.script([say(SUMMARY, { lane: "any" })]);
      const { stdout } = await carryover(["compact", path, ...withModel(), "--write", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({
        status: "compacted",
        written: path,
        backup,
        summary: SUMMARY,
      });
      expect(readFileSync(backup, "utf8")).toBe(claudeCode);
      for (const each of [path, backup]) expect(statSync(each).mode & 0o777).toBe(0o600);
      expect((await compacted(readFileSync(path))).boundary).toBeGreaterThanOrEqual(0);
    }
  });

  it.each([
    ["opencode", readFileSync("examples/sessions/opencode-session.json", "utf8")] as const,
    ...samples
      .filter(({ format }) => ["claude-code", "codex", "pi"].includes(format))
      .map(({ format, text }) => [format, text] as const),
  ])("leaves what was summed up in the file of %s, where its handles find it", async (_, text) => {
    writeFileSync(path, text);
    const { status } = await carryover(["compact", path, "--keep", "2000", "--local", "--write"]);
    expect(status).toBe(0);
    const { transcript: before } = await readTranscript(Buffer.from(text));
    const { transcript: after } = await readTranscript(readFileSync(path));
    const shown = filterCompacted(after).filter(isVisibleToModel);
    expect(shown.length).toBeLessThan(before.length - 5);
    const said = (transcript: Transcript) => JSON.stringify(transcript.flatMap(({ parts }) => parts));
    for (const { parts } of before)
      for (const part of parts) expect(said(after)).toContain(JSON.stringify(part));
    const summary = messageText(after.findLast((message) => message.summary) as Message);
    const handles = [
      ...[...summary.matchAll(/^- (\S+\/\d+): /gm)].map(([, handle = ""]) => handle).slice(0, 3),
      /^\[(\S+)\]$/m.exec(summary)?.[1] ?? "",
      /earlier messages \((\S+) to /.exec(summary)?.[1] ?? "",
    ];
    for (const handle of handles) {
      const found = await carryover(["recall", path, handle, "--json"]);
      expect({ handle, ...JSON.parse(found.stdout || "{}") }).toMatchObject({ handle, status: "found" });
    }
  });

  it("puts what was summed up behind the request that stays before the compaction", async () => {
    // Without its last request: all of the work belongs to the first one.
    writeFileSync(path, `${claudeCode.trim().split("\n").slice(0, -1).join("\n")}\n`);
    const { stdout } = await carryover(["compact", path, "--keep", "500", "--local", "--json"]);
    const { text, kept, summarized } = JSON.parse(stdout);
    const { transcript } = await readTranscript(Buffer.from(text));
    const boundary = findCompactionBoundary(transcript);
    expect(transcript.length - 1 - boundary).toBe(kept.messages);
    expect(boundary - 1).toBe(summarized.messages);
  });

  it("counts the second time what it sums up then, not what was summed up before", async () => {
    const again = async (...args: readonly string[]) =>
      JSON.parse((await carryover(["compact", path, "--json", ...args])).stdout);
    const first = await again("--keep", "3000", "--local", "--write");
    const second = await again("--keep", "100");
    expect(second).toMatchObject({ status: "planned" });
    expect(second.summarized.messages + second.kept.messages).toBeLessThanOrEqual(first.kept.messages);
    expect(second.summarized.messages).toBeGreaterThan(0);
  });

  it("follows a link and keeps a gzipped file gzipped", async () => {
    const [packed, link] = [`${path}.gz`, `${path}.link`];
    writeFileSync(packed, gzipSync(claudeCode));
    symlinkSync(packed, link);
    const { status } = await carryover(["compact", link, "--keep", "2000", "--local", "--write"]);
    expect(status).toBe(0);
    expect((await compacted(gunzipSync(readFileSync(packed)))).boundary).toBeGreaterThanOrEqual(0);
    expect(gunzipSync(readFileSync(`${packed}.bak`)).toString()).toBe(claudeCode);
    expect(readFileSync(link).equals(readFileSync(packed))).toBe(true);
  });

  it("leaves a file alone that somebody writes to meanwhile", async () => {
    const server = createServer((_, response) => {
      writeFileSync(path, `${claudeCode}\n`);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ choices: [{ message: { content: SUMMARY } }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const args = ["--keep", "2000", "--model", "m", "--url", url, "--write"];
    const { status, stderr } = await carryover(["compact", path, ...args]);
    server.close();
    expect(status).toBe(2);
    expect(stderr).toContain("has changed since it was read; it was left as it is");
    expect(readFileSync(path, "utf8")).toBe(`${claudeCode}\n`);
    expect(existsSync(`${path}.bak`)).toBe(false);
  });

  it("sends the key that an environment variable holds", async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url, request.headers.authorization);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ choices: [{ message: { content: SUMMARY } }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
    const args = ["compact", path, "--keep", "2000", "--model", "m", "--url", url, "--key-env", "MY_KEY"];
    const { status, stdout, stderr } = await carryover(args, { env: { MY_KEY: "open-sesame" } });
    server.close();
    expect(status).toBe(0);
    expect(seen).toEqual(["/v1/chat/completions", "Bearer open-sesame"]);
    expect(stdout + stderr).not.toContain("open-sesame");
  });

  it("changes nothing and says why when the model gives no summary", async () => {
    model.script([refuse("no such model", { lane: "any", times: "always" })]);
    const { status, stderr } = await carryover(["compact", path, ...withModel(), "--write"]);
    expect(status).toBe(3);
    expect(stderr).toMatch(/gave no summary that can be used: error \(.*no such model/);
    expect(readFileSync(path, "utf8")).toBe(claudeCode);
    expect(existsSync(`${path}.bak`)).toBe(false);
  });

  it("stops at Ctrl-C and changes nothing", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const args = ["compact", path, "--keep", "2000", "--model", "slow", "--url", url, "--write"];
    const { status, stderr } = await carryover(args, {
      stopAt: "slow writes the summary",
    });
    server.closeAllConnections();
    server.close();
    expect(status).toBe(130);
    expect(stderr).toContain("Stopped; nothing was changed");
    expect(readFileSync(path, "utf8")).toBe(claudeCode);
  });

  it("gives a short session as it is, and says beside it that there is nothing to compact", async () => {
    const short = `${claudeCode.split("\n").slice(0, 3).join("\n")}\n`;
    writeFileSync(path, short);
    const { status, stdout, stderr } = await carryover(["compact", path, "--local"]);
    expect(status).toBe(0);
    expect(stdout).toBe(short);
    expect(stderr).toMatch(/: nothing to compact, /);
    const out = `${path}.out`;
    const written = await carryover(["compact", path, "--local", "--out", out]);
    expect(written).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Written to ${out} as it was`),
    });
    expect(readFileSync(out, "utf8")).toBe(short);
    rmSync(out);
    const shown = await carryover(["compact", path]);
    expect(shown.stdout).toMatch(/: nothing to compact, /);
  });

  it.each([
    { args: ["--write"], says: /There is nothing to write/ },
    { args: ["--fold"], says: /--fold is now --local/ },
    { args: ["--local", "--write", "--out", "x"], says: /--write and --out name two places/ },
    { args: ["--model", "m"], says: /--model and --url belong together/ },
    { args: ["--model", "m", "--url", "nowhere"], says: /nowhere is no address of an API/ },
    { args: ["--model", "m", "--url", "file:///etc"], says: /is no address of an API/ },
    { args: ["--model", "m", "--url", "http://x", "--local"], says: /--local is without a model/ },
    { args: ["--model", "m", "--url", "http://x", "--key-env", "UNSET"], says: /UNSET is not set/ },
    { args: ["--key-env", "HOME"], says: /--key-env is for a model/ },
    { args: ["--window", "wide"], says: /Give a whole number/ },
  ])("answers $args with a clear line", async ({ args, says }) => {
    const { status, stderr } = await carryover(["compact", path, ...args]);
    expect(status).toBe(2);
    expect(stderr).toMatch(says);
  });
});
