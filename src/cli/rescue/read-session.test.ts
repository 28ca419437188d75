import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { codexCompactions } from "../../../test/rig/agents/broken-sessions.ts";
import { buildCli } from "../../../test/rig/build-cli.ts";
import { createCliRunner } from "../../../test/rig/run-cli.ts";
import { messageText } from "../../transcript/message.ts";
import { readSession } from "./read-session.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-read-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const HEAD = {
  id: "00000000-0000-4000-8000-000000000000",
  cwd: folder,
  at: 1_700_000_000_000,
  title: "",
  newId: () => "",
};

describe("what cannot be read at all", () => {
  it("is said in a sentence, as by the other verbs", async () => {
    const cut = join(folder, "cut.jsonl.gz");
    writeFileSync(cut, gzipSync(JSON.stringify({ text: "a".repeat(9_000) })).subarray(0, 30));
    await expect(readSession(folder, "all")).rejects.toThrow("it is a folder");
    await expect(readSession(join(folder, "none.jsonl"), "all")).rejects.toThrow("there is no such file");
    await expect(readSession(cut, "all")).rejects.toThrow(`Cannot read ${cut}`);
    await expect(readSession(cut, "all")).rejects.toMatchObject({
      advice: ["Nothing of it can be unpacked."],
    });
    const empty = join(folder, "empty.jsonl");
    writeFileSync(empty, " \n");
    await expect(readSession(empty, "all")).rejects.toThrow(`${empty} has no message that could be read`);
  });
});

describe("what was packed and is cut", () => {
  const lines = Array.from({ length: 400 }, (_, index) =>
    JSON.stringify({
      type: "user",
      uuid: `u${index}`,
      parentUuid: index === 0 ? null : `u${index - 1}`,
      sessionId: "s",
      message: { content: `${index} ${createHash("sha512").update(`${index}`).digest("hex")}` },
    }),
  );
  const packed = Buffer.from(lines.join("\n"));
  /** A frame of zstd whose blocks hold the bytes as they are. */
  const zstd = (bytes: Buffer): Buffer => {
    const blocks = Array.from({ length: Math.ceil(bytes.length / 8_192) }, (_, index) => {
      const piece = bytes.subarray(index * 8_192, (index + 1) * 8_192);
      const isLast = (index + 1) * 8_192 >= bytes.length ? 1 : 0;
      const head = isLast | (piece.length << 3);
      return Buffer.concat([Buffer.from([head & 0xff, (head >> 8) & 0xff, head >> 16]), piece]);
    });
    return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]), ...blocks]);
  };

  it.each([
    ["gz", gzipSync],
    ["zst", zstd],
  ] as const)("is read as far as it reaches, and said to be: %s", async (ending, pack) => {
    const whole = pack(Buffer.concat([packed, packed, packed]));
    const path = join(folder, `cut.jsonl.${ending}`);
    writeFileSync(path, whole.subarray(0, Math.floor(whole.length * 0.9)));
    const { transcript, findings } = await readSession(path, "window");
    expect(transcript.length).toBeGreaterThan(100);
    expect(findings[0]).toMatchObject({ problem: "damaged-line", severity: "broken" });
    expect(findings[0]?.text).toMatch(/is broken \(.*what comes after it is lost/);
  });
});

describe("a file of many compactions", () => {
  it("is read in the memory of its window, and recalled without what they repeat", async () => {
    const path = join(folder, "many.jsonl");
    const values = [...codexCompactions(HEAD, 30, 50_000)];
    writeFileSync(path, values.map((value) => `${JSON.stringify(value)}\n`).join(""));
    const window = await readSession(path, "window");
    const all = await readSession(path, "all");
    expect(statSync(path).size).toBeGreaterThan(1_500_000);
    expect(JSON.stringify(window.transcript).length).toBeLessThan(60_000);
    expect(JSON.stringify(all.transcript).length).toBeLessThan(40_000);
    expect(JSON.stringify(all.transcript)).toContain("ERROR E7731");
  });

  // 780 MB, in a heap of 128.
  it.skipIf(process.env.CARRYOVER_LONG === undefined)("may be larger than the memory", async () => {
    const path = join(folder, "huge.jsonl");
    const out = createWriteStream(path);
    for (const value of codexCompactions(HEAD, 260, 3_000_000))
      if (!out.write(`${JSON.stringify(value)}\n`)) await once(out, "drain");
    out.end();
    await once(out, "finish");
    const cli = await buildCli("cli-huge");
    const env = { HOME: folder, NODE_OPTIONS: "--max-old-space-size=128" };
    const { status, stdout, stderr } = await createCliRunner(() => cli)(["rescue", path, "--json"], { env });
    expect(status, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "rescued",
      findings: expect.arrayContaining([expect.objectContaining({ problem: "huge", severity: "broken" })]),
    });
  });
});

describe("what is damaged", () => {
  it("is read as far as records in it are whole, and where it is UTF-16", async () => {
    const path = join(folder, "joined.jsonl");
    const record = (uuid: string, parentUuid: string | null, content: string) =>
      JSON.stringify({ type: "user", uuid, parentUuid, sessionId: "s", message: { content } });
    const a = record("a", null, 'one "}{"');
    const b = record("b", "a", "two");
    const c = record("c", "b", "three");
    const d = record("d", "c", "four");
    // Half of a record with the next one behind it, and two in one line.
    writeFileSync(path, `${a}\n${b.slice(0, 40)}${b}\n${c}${d}\n`);
    const joined = await readSession(path, "window");
    expect(joined.transcript.map(messageText)).toEqual(['one "}{"', "two", "three", "four"]);
    expect(joined.findings).toMatchObject([
      { problem: "damaged-line", line: 2, text: expect.stringContaining("1 record in it could be read") },
      { problem: "damaged-line", line: 3, text: expect.stringContaining("2 records in it could be read") },
    ]);
    writeFileSync(path, Buffer.from(`\uFEFF${a}\r\n${b}\r\n`, "utf16le"));
    const wide = await readSession(path, "window");
    expect(wide.transcript.map(messageText)).toEqual(['one "}{"', "two"]);
    expect(wide.findings[0]).toMatchObject({ problem: "not-utf8", severity: "broken" });
  });

  it("is an export that ends in the middle: messages and parts that are whole are kept", async () => {
    const path = join(folder, "export.json");
    const part = (text: string) => ({ id: `prt_${text}`, type: "text", text });
    const message = (id: string, ...texts: readonly string[]) => ({
      info: { id, sessionID: "ses_1", role: "user", time: { created: 1 } },
      parts: texts.map(part),
    });
    const whole = JSON.stringify({
      info: { id: "ses_1", directory: folder },
      messages: [message("msg_1", 'one ]}"'), message("msg_2", "two", "three"), message("msg_3", "four")],
    });
    writeFileSync(path, whole.slice(0, whole.indexOf("three") + 3));
    const { transcript, findings, format } = await readSession(path, "window");
    expect([format, ...transcript.map(messageText)]).toEqual(["opencode", 'one ]}"', "two"]);
    expect(findings).toMatchObject([
      {
        problem: "damaged-line",
        severity: "broken",
        text: expect.stringContaining("2 messages could be read"),
      },
    ]);
    writeFileSync(path, whole.slice(0, 60));
    await expect(readSession(path, "window")).rejects.toThrow("export.json");
  });

  it("is named by line: bytes that are no UTF-8, and zeros", async () => {
    const path = join(folder, "bytes.jsonl");
    const line = (uuid: string, words: string) =>
      `${JSON.stringify({ type: "user", uuid, parentUuid: null, sessionId: "s", message: { content: words } })}\n`;
    writeFileSync(
      path,
      Buffer.concat([
        Buffer.from(line("a", "grüße")),
        Buffer.from(line("b", "X")).map((byte) => (byte === 0x58 ? 0xff : byte)),
        Buffer.from(`\0\0\0\0\n${line("c", "more")}`),
      ]),
    );
    const { findings, lineCount } = await readSession(path, "window");
    expect(lineCount).toBe(4);
    expect(findings).toMatchObject([
      { problem: "not-utf8", line: 2 },
      { problem: "damaged-line", line: 3, severity: "broken" },
    ]);
  });
});
