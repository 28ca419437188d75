import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { callAll, type ScriptedCall, say } from "../../rig/model-server/step.ts";
import type { HostEvent } from "../../rig/opencode/opencode-client.ts";
import type { HostRig } from "../harness/host-rig.ts";
import { describeHosts, scenario } from "../harness/scenario.ts";
import {
  NOTE_PROBE,
  noteFile,
  type OutputKind,
  outputKinds,
  SHOW_PROBE,
  SHOW_SERVER,
} from "./output-kinds.ts";

// The host's own permissions: what is read without asking is read without asking by a user's agent.
const HOST = {
  probes: { show: SHOW_PROBE, note: NOTE_PROBE },
  files: { "server.mjs": SHOW_SERVER },
  config: { permission: {}, mcp: { served: { type: "local", command: ["node", "server.mjs"] } } },
};
/** What is played in version 2: what its own tools print. Tools of plugins and MCP servers are the same code there. */
const ESSENTIAL = new Set([
  "one line",
  "nothing",
  "short colours",
  "short progress",
  "short NULs",
  "a failing command",
  "2,000 lines",
  "2,001 lines",
  "51,201 bytes",
  "300 KB",
  "a line of 10 MB and a line break",
  "minified JSON",
  "empty lines",
  "long and failing",
  "1 MB of progress and a report",
  "long colours",
  "long CRLF",
  "long Latin-1",
  "long UTF-16",
  "long emoji",
  "long Chinese",
  "long binary and a report",
  "read, 6,000 lines",
  "read, a line of 1 MB",
]);

describeHosts("outputs", (host) => {
  const bare = host.shareRig(HOST);
  const ours = host.shareRig({ ...HOST, plugin: {} });
  const kindsIn = (rig: HostRig): readonly OutputKind[] =>
    outputKinds(rig).filter(({ name }) => host.name === "opencode" || ESSENTIAL.has(name));

  host.scenario(
    "no tool output is larger or harder to read than without the plugin",
    {
      shared: ours,
      timeoutMs: 600_000,
      proves: "each kind, in the request that reaches the model, compared with the bare host",
    },
    async (rig) => {
      const kinds = kindsIn(rig);
      const [alone, withUs] = await Promise.all([
        bare.open().then((other) => outputsOf(other, kindsIn(other))),
        outputsOf(rig, kinds),
      ]);
      const rows = kinds.map(({ name, file = "", wants = [] }) => {
        const [bareHost, here] = [alone.get(name), withUs.get(name)];
        if (bareHost === undefined || here === undefined) throw new Error(`${name} was not printed`);
        expect(bareHost.sent, name).toBe(bareHost.noted);
        return compare(name, {
          alone: hostText(bareHost.noted, here.noted),
          withUs: here.sent,
          whole: Buffer.from(file).toString(),
          wants,
        });
      });
      console.log(`${host.name}\n${summary(rows)}`);
      expect(rows.length).toBeGreaterThanOrEqual(host.name === "opencode" ? 60 : ESSENTIAL.size);
      expect(rows.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`))).toEqual([]);
    },
  );

  host.scenario(
    "what was cut is read again without a question",
    {
      shared: ours,
      proves: "the file that the notice names asks for nothing, recall reads lines and characters, cleaned",
    },
    async (rig) => {
      const id = await rig.newSession();
      const names = Array.from({ length: 9_000 }, (_, index) => `\u001b[32mname-${index}\u001b[0m`);
      writeFileSync(join(rig.sandbox.project, "names"), `${names.join("\0")}\0`);
      writeFileSync(join(rig.sandbox.project, "line"), `${"0123456789".repeat(30_000)}\n`);
      await rig.turn(id, "Print.", [
        callAll([rig.tools.run("cat names", "call_names"), rig.tools.run("cat line", "call_line")]),
        say("Seen."),
      ]);
      const shown = sentTo(rig, id);
      const [ofNames = "", ofLine = ""] = ["call_names", "call_line"].map((call) => shown.get(call));
      await rig.turn(id, "Read on.", [
        callAll([
          recallOf(ofNames, "101-102", "lines"),
          recallOf(ofLine, "c150003-150010", "characters"),
          recallOf(ofLine, "9-", "beyond"),
          recallOf(ofLine, undefined, "all"),
          rig.tools.read(HOST_FILE_PATH.exec(ofLine)?.[0] ?? "", "read"),
        ]),
        say("Read."),
      ]);
      const answers = sentTo(rig, id);
      expect(answers.get("lines")).toBe("name-100\nname-101\n");
      expect(answers.get("characters")).toBe("3456789");
      expect(answers.get("beyond")).toMatch(/the text has \d lines?, 3000\d\d characters/);
      expect(answers.get("all")).toMatch(/^\[\d+ of 3000\d\d characters, \d lines?; .*range/);
      expect(answers.get("read")).toContain("0123456789");
      expect(rig.events.filter(({ type }) => type.startsWith("permission."))).toEqual([]);

      // The same question for a file of the plugin's own store, so that the above says something.
      const { handle } = handleIn(ofLine);
      const own = join(rig.sandbox.home, ".local/share/carryover/outputs", handle.slice(0, 2), handle);
      rig.model.script([{ sessionId: id, ...callAll([rig.tools.read(own)]) }]);
      await rig.promptInBackground(id, "Read our file.");
      await rig.waitFor(() => rig.events.some(({ type }) => type === "permission.asked"), "a question");
      await rig.interrupt(id);
    },
  );
});

scenario(
  "a store that cannot be used leaves the host's own cut",
  {
    plugin: {},
    probes: HOST.probes,
    start: "later",
    proves: "a file in its place: what the host made is sent byte for byte, and the user is told once",
  },
  async (rig) => {
    const data = join(rig.sandbox.home, ".local", "share");
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, "carryover"), "in the place of the store");
    await rig.restart();
    const id = await rig.newSession();
    const calls = ["call_1", "call_2", "call_3"];
    const command = (call: string): object => ({ command: `seq 9000; echo ${call}`, description: "Count" });
    for (const call of calls)
      await rig.turn(id, "Count.", [
        callAll([{ tool: "bash", input: command(call), id: call }]),
        say("Counted."),
      ]);
    const sent = sentTo(rig, id);
    for (const call of calls) {
      expect(sent.get(call)).toBe(
        readFileSync(noteFile(rig.sandbox.project, { sessionId: id, callId: call }), "utf8"),
      );
      expect(sent.get(call)).toContain("Full output saved to:");
    }
    const isToast = ({ type, properties }: HostEvent): boolean =>
      type === "tui.toast.show" && String(properties.message).includes("cannot be kept");
    await rig.waitFor(() => rig.events.some(isToast), "the toast");
    expect(rig.events.filter(isToast)).toHaveLength(1);
    const log = readFileSync(join(rig.sandbox.root, "server-output.txt"), "utf8");
    const told = [...log.matchAll(/level=WARN .*message="([^"]*ENOTDIR[^"]*)"/g)].map(
      ([, message]) => message,
    );
    expect(told.filter((message) => message?.includes("long outputs cannot be kept"))).toHaveLength(1);
    expect(told).toEqual([...new Set(told)]);
  },
);

function handleIn(output: string): { readonly handle: string } {
  return { handle: /handle(?: and sha256)? (\w{64})/.exec(output)?.[1] ?? "" };
}

function recallOf(output: string, range: string | undefined, id: string): ScriptedCall {
  return { tool: "recall", input: { ...handleIn(output), ...(range && { range }) }, id };
}

/** What the model was last sent of each call. */
function sentTo(rig: HostRig, sessionId: string): ReadonlyMap<string, string> {
  const messages = (rig.requests({ sessionId }).at(-1)?.body.messages ?? []) as readonly WireMessage[];
  return new Map(messages.map(({ tool_call_id, content }) => [tool_call_id ?? "", String(content)]));
}

interface WireMessage {
  readonly tool_call_id?: string;
  readonly content: unknown;
}

/** What the host made of an output, before other plugins saw it, and what reached the model. */
interface Printed {
  readonly noted: string;
  readonly sent: string;
}

/** Prints every kind, a few in one conversation. */
async function outputsOf(rig: HostRig, kinds: readonly OutputKind[]): Promise<ReadonlyMap<string, Printed>> {
  for (const { name, file } of kinds)
    if (file !== undefined) writeFileSync(join(rig.sandbox.project, name), file);
  const outputs = new Map<string, Printed>();
  for (let start = 0; start < kinds.length; start += KINDS_A_CONVERSATION) {
    const together = kinds.slice(start, start + KINDS_A_CONVERSATION);
    for (const [name, printed] of await printTogether(rig, together)) outputs.set(name, printed);
  }
  return outputs;
}

const KINDS_A_CONVERSATION = 14;

async function printTogether(
  rig: HostRig,
  kinds: readonly OutputKind[],
): Promise<ReadonlyMap<string, Printed>> {
  const id = await rig.newSession();
  const calls = kinds.map(({ call }, index) => ({ ...call, id: `call_${index}` }));
  // Little usage is told, so that the host does not compact.
  const usage = { inputTokens: 1_000, outputTokens: 10 };
  await rig.turn(id, "Print them.", [callAll(calls, { usage }), say("Seen.", { usage })]);
  const texts = sentTo(rig, id);
  const printed = kinds.map(({ name }, index): [string, Printed] => {
    const sent = texts.get(`call_${index}`) ?? "";
    const file = noteFile(rig.sandbox.project, { sessionId: id, callId: `call_${index}` });
    // A call that fails is told to nobody.
    return [name, { noted: existsSync(file) ? readFileSync(file, "utf8") : sent, sent }];
  });
  return new Map(printed);
}

/**
 * What the bare host shows. Of a long line it shows as much as its last reads from the pipe had, which is another length
 * in each run: then it is what it made in the same run, before the plugin saw it.
 */
function hostText(alone: string, here: string): string {
  return withoutFile(alone) === withoutFile(here) ? alone : here;
}

interface Seen {
  readonly alone: string;
  readonly withUs: string;
  /** What the tool printed. */
  readonly whole: string;
  readonly wants: readonly string[];
}

interface Row {
  readonly name: string;
  readonly aloneChars: number;
  readonly withUsChars: number;
  readonly faults: readonly string[];
}

/** What is worse with the plugin than without it. */
function compare(name: string, { alone, withUs, whole, wants }: Seen): Row {
  const faults: string[] = [];
  const refuse = (isFault: boolean, fault: string): void => void (isFault && faults.push(fault));
  const more = withUs.length - alone.length;
  const moreBytes = Buffer.byteLength(withUs) - Buffer.byteLength(alone);
  refuse(more > NOTICE_CHARS, `${more} characters more`);
  refuse(moreBytes > NOTICE_CHARS, `${moreBytes} bytes more`);
  for (const [what, pattern] of Object.entries(NOISE)) {
    const [before, after] = [count(alone, pattern), count(withUs, pattern)];
    refuse(after > before, `${after} ${what} instead of ${before}`);
  }
  for (const wanted of wants)
    refuse(alone.includes(wanted) && !withUs.includes(wanted), `"${wanted}" is not shown`);
  refuse(withUs.includes("[Binary output not shown"), "text is called binary");
  // Version 2 says behind an output how the command ended.
  if (!withUs.startsWith(whole.trimEnd()) && withoutFile(withUs) !== withoutFile(alone)) {
    refuse(!RECOVERABLE.test(withUs), "changed and does not say where the whole is");
    const file = HOST_FILE.test(alone);
    refuse(file && !HOST_FILE.test(withUs), "the host's file is not named any more");
    refuse(withUs.includes("carryover/outputs"), "names a file that the model may not read without asking");
  }
  return { name, aloneChars: alone.length, withUsChars: withUs.length, faults };
}

/** What a notice may add. */
const NOTICE_CHARS = 400;

const NOISE: Readonly<Record<string, RegExp>> = {
  escapes: /\u001b/g,
  NULs: /\0/g,
  "overwritten states": /\r(?!\n)/g,
  backspaces: /\u0008/g,
  "lone surrogates": /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
};

const RECOVERABLE = /\[Full output kept: .*handle .*recall|As it was written: /;
const HOST_FILE_PATH = /\/\S+\/(?:tool-output\/tool_\w+|shell\/\w+\/sh_\w+\.out)/;
const HOST_FILE = /\/(?:tool-output\/tool_\w+|shell\/\w+\/sh_\w+\.out)/;

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Two runs differ in the folder of the sandbox and in the name of the file. */
function withoutFile(text: string): string {
  return text.replace(/\/\S*carryover-opencode-\w+/g, "").replace(HOST_FILE, "");
}

function summary(rows: readonly Row[]): string {
  const total = (of: (row: Row) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const kinds = (is: (row: Row) => boolean): number => rows.filter(is).length;
  const most = Math.max(...rows.map((row) => row.withUsChars - row.aloneChars));
  const table = rows
    .filter(({ faults, aloneChars, withUsChars }) => faults.length > 0 || aloneChars !== withUsChars)
    .map(({ name, aloneChars, withUsChars, faults }) =>
      [String(aloneChars).padStart(9), String(withUsChars).padStart(9), ` ${name}`, ...faults].join("  "),
    );
  return [
    "    alone    with us",
    ...table,
    `${rows.length} kinds: ${kinds((row) => row.withUsChars === row.aloneChars)} as long as alone, ` +
      `${kinds((row) => row.withUsChars < row.aloneChars)} shorter, the others at most ${most} characters longer; ` +
      `${total((row) => row.aloneChars)} characters alone, ${total((row) => row.withUsChars)} with the plugin; ` +
      `${kinds((row) => row.faults.length > 0)} worse`,
  ].join("\n");
}
