import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claudeCode } from "../../hosts/claude-code/claude-code.ts";
import type { RunningTool } from "../../plugin/host/agent-host.ts";
import { type AgentTools, createAgentTools } from "../hooks/agent-tools.ts";
import type { HookAgent } from "../hooks/hook-agent.ts";
import { noteMode } from "./process-notes.ts";

/** Stands in for the agent's program: writes into the session as Claude Code does, and does what its task says. */
const PROGRAM = `#!${process.execPath}
const { appendFileSync, readFileSync } = require("node:fs");
const [, , ...args] = process.argv;
const id = args[args.indexOf("--resume") + 1];
const file = process.env.SESSIONS + "/" + id + ".jsonl";
const prompt = readFileSync(0, "utf8");
if (prompt.includes("FAIL")) {
  process.stderr.write("the lantern is broken\\n");
  process.exit(3);
}
let parentUuid = JSON.parse(readFileSync(file, "utf8").trim().split("\\n").at(-1)).uuid;
const write = (type, message) => {
  const uuid = require("node:crypto").randomUUID();
  const line = { parentUuid, uuid, type, message, timestamp: new Date().toISOString() };
  appendFileSync(file, JSON.stringify(line) + "\\n");
  parentUuid = uuid;
};
const print = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
const answer = (content, stop_reason) => {
  const message = { id: "msg_" + Math.random(), role: "assistant", model: "m", content, stop_reason };
  write("assistant", message);
  print({ type: "assistant", message });
};
write("user", { role: "user", content: prompt });
const say = (text) => {
  answer([{ type: "text", text }], "end_turn");
  print({ type: "result", is_error: false, total_cost_usd: 0.25, usage: { input_tokens: 10, output_tokens: 5 } });
};
if (/Report now/.test(prompt)) say("REPORT of what I have, with " + args.join(" "));
else if (prompt.includes("WORK")) {
  answer([{ type: "text", text: "I begin." }], "tool_use");
  setInterval(() => answer([{ type: "tool_use", id: "c" + Math.random(), name: "Bash", input: { n: Math.random() } }], "tool_use"), 40);
} else say("DONE with " + args.join(" "));
`;

const PARENT = "00000001-aaaa-4bbb-8ccc-dddddddddddd";
let home: string;
let sessions: string;
let tools: AgentTools;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "carryover-"));
  sessions = join(home, ".claude", "projects", home.replaceAll(/[^A-Za-z0-9]/g, "-"));
  mkdirSync(sessions, { recursive: true });
  writeFileSync(join(home, "claude"), PROGRAM);
  chmodSync(join(home, "claude"), 0o755);
  const asked = { type: "user", message: { role: "user", content: "Look after the lighthouse" } };
  const line = {
    ...asked,
    uuid: "m1",
    parentUuid: null,
    timestamp: new Date().toISOString(),
    permissionMode: "bypassPermissions",
  };
  const other = JSON.stringify({ type: "file-history-snapshot", messageId: "m1", snapshot: {} });
  writeFileSync(join(sessions, `${PARENT}.jsonl`), `${other}\n${JSON.stringify(line)}\n${other}\n`);
});
afterEach(() => tools.dispose());

async function serve(fork: object = {}, agent: HookAgent = claudeCode): Promise<void> {
  mkdirSync(join(home, ".config", "carryover"), { recursive: true });
  writeFileSync(join(home, ".config", "carryover", "options.json"), JSON.stringify({ fork }));
  const env = {
    HOME: home,
    PATH: process.env.PATH,
    SESSIONS: sessions,
    CLAUDE_BIN: join(home, "claude"),
    CLAUDE_CODE_SESSION_ID: PARENT,
    CLAUDE_CODE_ENTRYPOINT: "cli",
  };
  tools = await createAgentTools(agent, { env, directory: home, log: () => {}, version: "1" });
}

let callCount = 0;

/** A call of the session, of which the hook has told the mode. */
async function call(name: string, args: object): Promise<string> {
  callCount += 1;
  noteMode({ HOME: home }, `toolu_${callCount}`, "plan");
  return callUnseen(name, args);
}

function append(line: object): void {
  appendFileSync(join(sessions, `${PARENT}.jsonl`), `${JSON.stringify(line)}\n`);
}

/** A call that no hook was told of, or one that it refused a sub-agent. */
async function callUnseen(name: string, args: object): Promise<string> {
  const { signal } = new AbortController();
  const toolUseID = `toolu_${callCount}`;
  append({ type: "progress", toolUseID });
  const running: RunningTool = await tools.running({ "claudecode/toolUseId": toolUseID }, signal);
  return (await tools.tools[name]?.execute(args, running)) ?? "";
}

it("has a child that knows the conversation, with the parent's mode and the budget that is left", async () => {
  await serve();
  const result = await call("fork", { prompt: "Look.", wait_s: 20 });
  expect(result).toContain('state="completed"');
  expect(result).toContain("--max-budget-usd 2.0000 --permission-mode plan --disallowedTools Task");
  const child = readdirSync(sessions).find((name) => !name.startsWith(PARENT)) ?? "";
  expect(readFileSync(join(sessions, child), "utf8")).toContain("Look after the lighthouse");
  const again = await call("fork", { prompt: "Look again.", resume: "1", wait_s: 20 });
  expect(again).toContain("--max-budget-usd 1.7500");
});

it("knows what the session writes down only after it has called", async () => {
  await serve();
  noteMode({ HOME: home }, "toolu_late", "plan");
  const running = tools.running({ "claudecode/toolUseId": "toolu_late" }, new AbortController().signal);
  const timestamp = new Date().toISOString();
  const message = { role: "user", content: "The lamp is green." };
  setTimeout(() => {
    append({ type: "user", uuid: "m2", parentUuid: "m1", timestamp, message });
    append({ type: "progress", toolUseID: "toolu_late" });
  }, 300);
  await tools.tools.fork?.execute({ prompt: "Look.", wait_s: 20 }, await running);
  const child = readdirSync(sessions).find((name) => !name.startsWith(PARENT)) ?? "";
  expect(readFileSync(join(sessions, child), "utf8")).toContain("The lamp is green.");
});

it("is neither started nor spoken to by a call that no hook has seen, also behind one that was", async () => {
  await serve();
  await call("fork", { prompt: "Look.", wait_s: 20 });
  expect(await callUnseen("fork", { prompt: "Write." })).toContain("No hook has said who calls");
  expect(await callUnseen("fork", { prompt: "Write.", resume: "1" })).toContain("No hook has said who calls");
  expect(readdirSync(sessions)).toHaveLength(2);
});

it("reads calls of our tools under the names that it is offered, and no cost where none is known", async () => {
  await serve();
  const recall = "mcp__plugin_carryover_carryover__recall";
  const timestamp = new Date().toISOString();
  const calls = [{ type: "tool_use", id: "toolu_r", name: recall, input: { search: "lamp" } }];
  const results = [{ type: "tool_result", tool_use_id: "toolu_r", content: "The lamp is green." }];
  const lines = [
    {
      type: "assistant",
      uuid: "m2",
      parentUuid: "m1",
      message: { id: "a", role: "assistant", content: calls },
    },
    { type: "user", uuid: "m3", parentUuid: "m2", message: { role: "user", content: results } },
  ];
  for (const line of lines) append({ ...line, timestamp });
  expect(await call("fork", { prompt: "FAIL", wait_s: 20 })).not.toContain("cost=");
  const child = readdirSync(sessions).find((name) => !name.startsWith(PARENT)) ?? "";
  const written = readFileSync(join(sessions, child), "utf8");
  expect(written).toContain("The lamp is green.");
  expect(written).toContain(`"name":"${recall}"`);
});

it("costs no more than is left of what its parent's process may cost", async () => {
  const startedWith = { words: ["--max-budget-usd", "0.40"], isExact: true };
  const rightsOf: HookAgent["child"]["rightsOf"] = (parent) =>
    claudeCode.child.rightsOf({ ...parent, startedWith });
  await serve({}, { ...claudeCode, child: { ...claudeCode.child, rightsOf } });
  expect(await call("fork", { prompt: "Look.", wait_s: 20 })).toContain("--max-budget-usd 0.4000");
  expect(await call("fork", { prompt: "Look.", wait_s: 20 })).toContain("--max-budget-usd 0.1500");
  expect(await call("fork", { prompt: "Look.", wait_s: 20 })).toContain("is used up");
});

it("says why a child failed", async () => {
  await serve();
  const result = await call("fork", { prompt: "FAIL", wait_s: 20 });
  expect(result).toContain('state="failed"');
  expect(result).toContain("its process ended with code 3: the lantern is broken");
});

it("returns at once where a person sees it, is steered while it runs, and ends when it is told to", async () => {
  await serve();
  const started = await call("fork", { prompt: "WORK" });
  expect(started).toContain("Its result will be delivered to you");
  // Lines of the file that are no messages do not count.
  expect(started).toMatch(/It inherited 1 message\b/);
  const transcript = (id: string) => call("fork_result", { id, view: "transcript" });
  await expect.poll(() => transcript("1"), { timeout: 10_000 }).toContain("I begin.");
  const steered = await call("fork", { prompt: "Please finish.", resume: "1", wait_s: 20 });
  expect(steered).toContain("DONE with");
  await call("fork", { prompt: "WORK" });
  await expect.poll(() => transcript("2"), { timeout: 10_000 }).toContain("I begin.");
  const stopped = await call("fork_cancel", { id: "2" });
  expect(stopped).toContain('state="cancelled"');
  expect(stopped).toContain("I begin.");
  // Nor does a call that starts nothing leave its note behind.
  expect(await call("fork", { task: "Look." })).toContain("prompt is missing");
  expect(readdirSync(join(home, ".local", "share", "carryover", "waiting", "modes"))).toEqual([]);
});

it("asks for the report at a limit, and takes no more than that", async () => {
  await serve({ maxToolCalls: 3 });
  const result = await call("fork", { prompt: "WORK", wait_s: 20 });
  expect(result).toContain("REPORT of what I have");
  expect(result).toContain("--max-budget-usd 2.0000");
  expect(result).toContain('calls="3"');
});

it("starts no more at once than it may", async () => {
  await serve({ maxRunning: 1 });
  expect(await call("fork", { prompt: "WORK" })).toContain("Fork 1 started");
  for (const number of [2, 3, 4, 5])
    expect(await call("fork", { prompt: "WORK" })).toContain(`Fork ${number} is queued`);
  expect(await call("fork", { prompt: "WORK" })).toMatch(/queue|wait/i);
  await call("fork_cancel", { id: "all" });
});
