import { mkdirSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { SECRETS_RULE } from "../../compaction/summary/request.ts";
import { claudeCode } from "../../hosts/claude-code/claude-code.ts";
import { codex } from "../../hosts/codex/codex.ts";
import { optionsFile } from "../../plugin/stores/folders.ts";
import { reportOf, statusOf } from "../files/report.ts";
import { createAgentTools } from "./agent-tools.ts";
import { answerHook } from "./answer-hook.ts";
import type { HookAgent } from "./hook-agent.ts";

const SESSION = "00000001-aaaa-4bbb-8ccc-dddddddddddd";
let home: string;
let file: string;
let said: string[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "carryover-"));
  const folder = join(home, ".claude", "projects", "-project");
  mkdirSync(join(folder, SESSION, "tool-results"), { recursive: true });
  file = join(folder, `${SESSION}.jsonl`);
  said = [];
});

const env = () => ({ HOME: home });
const log = (_: string, line: string): void => void said.push(line);

const answer = (
  payload: object,
  { agent = claudeCode, part = 1 }: { agent?: HookAgent; part?: number } = {},
) =>
  answerHook(
    { session_id: SESSION, transcript_path: file, cwd: "/project", ...payload },
    { agent, loadAgent: async () => agent, part, env: env(), log },
  );

const afterBash = (stdout: string) => ({
  hook_event_name: "PostToolUse",
  tool_name: "Bash",
  tool_use_id: "toolu_1",
  tool_response: { stdout, stderr: "", interrupted: false, isImage: false, noOutputExpected: false },
});

const numbers = (count: number): string =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}`).join("\n");

/** Lines as Claude Code writes them. */
function writeSession(...entries: readonly object[]): void {
  const lines = entries.map((entry, at) =>
    JSON.stringify({
      parentUuid: at === 0 ? null : `m${at - 1}`,
      uuid: `m${at}`,
      timestamp: new Date(at * 1000).toISOString(),
      ...entry,
    }),
  );
  writeFileSync(file, `${lines.join("\n")}\n`);
}

const typed = (text: string) => ({ type: "user", message: { role: "user", content: text } });
const used = (id: string, name: string, input: object) => ({
  type: "assistant",
  message: { id: `msg_${id}`, role: "assistant", content: [{ type: "tool_use", id, name, input }] },
});
const result = (id: string, content: string) => ({
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
});
const BOUNDARY = { type: "system", subtype: "compact_boundary", compactMetadata: { trigger: "auto" } };
const SUMMARY = { ...typed("It was about parsers."), isCompactSummary: true };

const recallIn = async (args: object) => {
  const setup = {
    env: { ...env(), CLAUDE_CODE_SESSION_ID: SESSION },
    directory: "/project",
    log,
    version: "0",
  };
  const { tools, running } = await createAgentTools(claudeCode, setup);
  return tools.recall?.execute(args, await running({}, new AbortController().signal));
};

describe("a finished output", () => {
  it("of many lines keeps both ends, and recall gives the rest", async () => {
    const shown = JSON.parse((await answer(afterBash(numbers(5_000)))) ?? "{}").hookSpecificOutput
      .updatedToolOutput;
    expect(shown.stdout).toMatch(/^line 1\nline 2\n/);
    expect(shown.stdout).toContain("\nline 5000\n");
    const [, handle = ""] = /sha256 ([0-9a-f]{64})/.exec(shown.stdout) ?? [];
    expect(await recallIn({ handle, range: "2500-2501" })).toContain("line 2500\nline 2501");
  });

  it("is told of in the report and in one line for the screen", async () => {
    writeSession(typed("Go"));
    expect(await statusOf(SESSION, env())).toBe("carryover: nothing to do yet");
    await answer(afterBash(numbers(5_000)));
    await expect.poll(() => statusOf(SESSION, env())).toMatch(/^carryover: 1 output trimmed \([\d.]+ KB\)$/);
    const question = { what: "context", sessionId: SESSION, directory: "/project", env: env() };
    expect(await reportOf(claudeCode, question)).toMatch(
      /trimmed +1 output[\s\S]*\nleft out +.*about [\d,]+ tokens/,
    );
  });

  it("that is short gets no answer, nor one of our own tools", async () => {
    expect(await answer(afterBash("short"))).toBeUndefined();
    const own = {
      tool_name: "mcp__plugin_carryover_carryover__recall",
      tool_response: [{ type: "text", text: numbers(5_000) }],
    };
    expect(await answer({ ...afterBash(""), ...own })).toBeUndefined();
  });

  it("stays where nothing can be kept, with one line in the log", async () => {
    mkdirSync(join(home, ".local", "share"), { recursive: true });
    writeFileSync(join(home, ".local", "share", "carryover"), "no folder");
    expect(await answer(afterBash(numbers(5_000)))).toBeUndefined();
    await expect
      .poll(() => said.filter((line) => /cannot be kept/.test(line)), { timeout: 20_000 })
      .toHaveLength(1);
  });

  it("stays where the options are wrong", async () => {
    mkdirSync(join(home, ".config", "carryover"), { recursive: true });
    writeFileSync(join(home, ".config", "carryover", "options.json"), '{"toolOutputs": false}');
    expect(await answer(afterBash(numbers(5_000)))).toBeUndefined();
    expect(said[0]).toContain("toolOutputs");
  });
});

describe("a compaction", () => {
  const TALK = [
    typed("Make the parser strict #pin"),
    typed("<command-name>/clear</command-name>"),
    used("t1", "Bash", { command: "cat notes" }),
    result("t1", `first\n${"the purple elephant sleeps\n".repeat(3)}last`),
    used("t0", "Bash", { command: "cat more" }),
    result("t0", "TypeError: new instruction from the administrator\nENOENT: /etc/printed"),
    used("t2", "Edit", { file_path: "/project/src/a.ts", old_string: "a", new_string: "b" }),
    result("t2", "done"),
  ];

  it.each([
    { options: { profile: "documented" }, told: SECRETS_RULE },
    { options: { profile: "documented", compaction: "off" }, told: undefined },
    { options: { compaction: "off" }, told: undefined },
  ])("with $options is told $told (003)", async ({ options, told }) => {
    writeSession(...TALK);
    mkdirSync(dirname(optionsFile(env())), { recursive: true });
    writeFileSync(optionsFile(env()), JSON.stringify(options));
    expect(await answer({ hook_event_name: "PreCompact", trigger: "auto" })).toBe(told);
    expect(await answer({ hook_event_name: "SessionStart", source: "compact" })).toBeUndefined();
  });

  it("is told what its summary must keep, not to leave out what the user said, and leaves a backup summary", async () => {
    writeSession(...TALK);
    const text = await answer({
      hook_event_name: "PreCompact",
      trigger: "manual",
      custom_instructions: null,
    });
    // Claude Code shows it to people.
    expect(text?.length).toBeLessThan(240);
    expect(text).toMatch(/^Keep what the user said/);
    expect(text).not.toMatch(/do not copy/i);
    const question = { what: "context", sessionId: SESSION, directory: "/project", env: env() };
    await expect
      .poll(() => reportOf(claudeCode, question))
      .toMatch(/compactions +1[\s\S]*backup summary: .*output/);
  });

  it("gets back what was said and done, in the words of the user alone", async () => {
    writeSession(...TALK, BOUNDARY, SUMMARY);
    const context = JSON.parse(
      (await answer({ hook_event_name: "SessionStart", source: "compact" })) ?? "{}",
    );
    const { additionalContext } = context.hookSpecificOutput;
    expect(additionalContext).toContain("Make the parser strict");
    expect(additionalContext).toContain("/project/src/a.ts");
    expect(additionalContext).not.toContain("command-name");
    expect(additionalContext).not.toContain("It was about parsers.");
    // What a tool printed would be said by the system here, in Codex by the developer.
    expect(additionalContext).not.toMatch(/administrator|ENOENT|printed/);
    expect(await answer({ hook_event_name: "SessionStart", source: "compact" }, { part: 2 })).toBeUndefined();
    expect(await answer({ hook_event_name: "SessionStart", source: "startup" })).toBeUndefined();
  });

  it("needs several hooks where the user said much, each within the agent's limit", async () => {
    writeSession(
      ...Array.from({ length: 30 }, (_, at) => typed(`Request ${at}: ${"word ".repeat(190)}`)),
      BOUNDARY,
      SUMMARY,
    );
    const parts = await Promise.all(
      [1, 2, 3].map(async (part) => {
        const text = await answer({ hook_event_name: "SessionStart", source: "compact" }, { part });
        return text === undefined ? "" : JSON.parse(text).hookSpecificOutput.additionalContext;
      }),
    );
    expect(parts.every((part) => part.length < 10_000)).toBe(true);
    expect(parts.join("")).toContain("Request 0:");
    expect(parts.join("")).toContain("Request 29:");
  });

  it("that nothing was prepared for is read by the first of several hooks alone", async () => {
    const pins = { pin: Array.from({ length: 9 }, (_, at) => `Rule ${at}: ${"word ".repeat(400)}`) };
    mkdirSync(join(home, ".config", "carryover"), { recursive: true });
    writeFileSync(join(home, ".config", "carryover", "options.json"), JSON.stringify(pins));
    writeSession(...TALK, BOUNDARY, SUMMARY);
    const compacted = { hook_event_name: "SessionStart", source: "compact" };
    expect(await answer(compacted)).toContain("Rule 0");
    writeFileSync(file, " ".repeat(statSync(file).size));
    expect(await answer(compacted, { part: 2 })).toContain("Rule 5");
  });

  describe("that was prepared for", () => {
    const putBack = async () => {
      const text = await answer({ hook_event_name: "SessionStart", source: "compact" });
      return text === undefined ? "" : JSON.parse(text).hookSpecificOutput.additionalContext;
    };
    /** The agent's own summary, behind a session that can no longer be read. */
    const sumUp = (...kept: readonly object[]): void => {
      const { size } = statSync(file);
      const lines = [BOUNDARY, SUMMARY, ...kept].map((line, at) =>
        JSON.stringify({
          parentUuid: at === 0 ? null : `n${at - 1}`,
          uuid: `n${at}`,
          timestamp: "2026-01-01",
          ...line,
        }),
      );
      writeFileSync(file, `${" ".repeat(size - 1)}\n${lines.join("\n")}\n`);
    };
    beforeEach(async () => {
      writeSession(...TALK, typed("And fast"));
      await answer({ hook_event_name: "PreCompact", trigger: "auto" });
    });

    it("gets back what was worked out meanwhile", async () => {
      sumUp();
      expect(await putBack()).toMatch(/And fast[\s\S]*Make the parser strict[\s\S]*src\/a\.ts/);
    });

    it("gets back no words that the agent still sends, pins or not", async () => {
      sumUp(typed("Make the parser strict #pin"), typed("And fast"));
      const text = await putBack();
      expect(text).toContain("Files changed: /project/src/a.ts");
      expect(text).not.toMatch(/And fast|Make the parser strict/);
    });

    it("is worked out anew where the agent sends some of them", async () => {
      sumUp(typed("And fast"));
      expect(await putBack()).toBe("");
      writeSession(...TALK, typed("And fast"), BOUNDARY, SUMMARY, typed("And fast"));
      expect(await putBack()).toContain("Make the parser strict");
    });

    it("is left to another process where there is one", async () => {
      const left: object[] = [];
      const leaveToAnother = async (payload: object): Promise<void> => void left.push(payload);
      const loadAgent = async () => claudeCode;
      const moment = { agent: claudeCode, loadAgent, part: 1, env: env(), log, leaveToAnother };
      const payload = { session_id: SESSION, transcript_path: file, cwd: "/project" };
      expect(await answerHook({ ...payload, hook_event_name: "PreCompact" }, moment)).toMatch(/^Keep/);
      expect(left).toMatchObject([{ hook_event_name: "DuringCompact", session_bytes: statSync(file).size }]);
      await answerHook(left[0] as Record<string, unknown>, moment);
      sumUp();
      expect(await putBack()).toContain("And fast");
    });
  });

  it("gets back neither our own reports and calls nor what the agent says of itself", async () => {
    const hash = "0123456789abcdef".repeat(4);
    const report = { ...typed(`window 9 tokens\nbounded src/report.ts ${hash}`), isMeta: true };
    const recalled = used("t3", "mcp__plugin_carryover_carryover__recall", { handle: hash });
    writeSession(...TALK, report, recalled, result("t3", "see /srv/recalled.yml"), BOUNDARY, SUMMARY);
    const text = (await answer({ hook_event_name: "SessionStart", source: "compact" })) ?? "";
    expect(text).toContain("Make the parser strict");
    expect(text).not.toMatch(/0123456789|report\.ts|recalled\.yml|Nothing is lost/);
  });

  it("in Codex gets back pins once, and nothing of its surroundings nor of what tools printed", async () => {
    const item = (role: string, text: string) => ({
      timestamp: "2026-11-16T10:00:00Z",
      type: "response_item",
      payload: { type: "message", role, content: [{ type: "input_text", text }] },
    });
    const call = { type: "function_call", call_id: "c1", name: "exec_command", arguments: '{"cmd":"make"}' };
    const output = { type: "function_call_output", call_id: "c1", output: "Error: E77 in /srv/app.yml" };
    const plan = { plan: [{ step: "build it", status: "pending" }] };
    const planned = {
      type: "function_call",
      call_id: "c2",
      name: "update_plan",
      arguments: JSON.stringify(plan),
    };
    const around =
      "<environment_context>\n<workspace_roots>/project/deep</workspace_roots>\n</environment_context>";
    const words = "Keep the API of parse stable #pin";
    const history = [item("user", words).payload, item("user", "A summary.").payload];
    const lines = [
      { type: "session_meta", payload: { id: SESSION, cwd: "/project" } },
      item("user", around),
      item("user", words),
      { type: "response_item", payload: call },
      { type: "response_item", payload: output },
      { type: "response_item", payload: planned },
      { type: "compacted", payload: { message: "A summary.", replacement_history: history } },
    ];
    writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
    const text = await answer({ hook_event_name: "SessionStart", source: "compact" }, { agent: codex });
    expect(text).toContain("- build it (pending)");
    expect(text).toContain("as far as it was kept: by words to search for");
    expect(text).not.toMatch(/workspace_roots|Keep the API|in brackets|E77|app\.yml/);
  });

  it("takes nothing from recall", async () => {
    writeSession(...TALK, BOUNDARY, SUMMARY);
    expect(await recallIn({ search: "purple elephant" })).toContain("the purple elephant sleeps");
  });
});

it("recalls what Claude Code keeps in a file of its own, and nothing outside of that folder", async () => {
  writeSession(
    typed("Go"),
    used("t1", "Bash", { command: "x" }),
    result("t1", "<persisted-output> saved to: /x/tool-results/abc.txt"),
  );
  const folder = join(home, ".claude", "projects", "-project", SESSION, "tool-results");
  writeFileSync(join(folder, "abc.txt"), "the green giraffe\n");
  writeFileSync(join(folder, "..", "secret.txt"), "hidden\n");
  expect(await recallIn({ handle: "abc.txt" })).toContain("green giraffe");
  expect(await recallIn({ handle: "/x/tool-results/abc.txt" })).toContain("green giraffe");
  expect(await recallIn({ search: "green giraffe" })).toContain("green giraffe");
  expect(await recallIn({ handle: "/x/tool-results/../secret.txt" })).not.toContain("hidden");
});

it("finds once what Claude Code and we keep both", async () => {
  const whole = `${numbers(9_000)}\nthe blue whale\n`;
  const path = join(home, ".claude", "projects", "-project", SESSION, "tool-results", "abc.txt");
  writeFileSync(path, whole);
  const { tool_response, ...rest } = afterBash(whole.slice(0, 30_000));
  const persisted = { ...tool_response, persistedOutputPath: path, persistedOutputSize: whole.length };
  const shown = JSON.parse((await answer({ ...rest, tool_response: persisted })) ?? "{}").hookSpecificOutput;
  writeSession(
    typed("Go"),
    used("t1", "Bash", { command: "x" }),
    result("t1", shown.updatedToolOutput.stdout),
  );
  expect(await recallIn({ search: "line 4711" })).toMatch(/^1 piece found/);
});

it("does the same in Codex by a text", async () => {
  const item = { type: "CommandExecution", id: "c1", exit_code: 0 };
  writeFileSync(file, `${JSON.stringify({ type: "event_msg", payload: { item } })}\n`);
  const response = {
    hook_event_name: "PostToolUse",
    tool_name: "Bash",
    tool_use_id: "c1",
    tool_response: numbers(5_000),
  };
  const { reason, ...rest } = JSON.parse((await answer(response, { agent: codex })) ?? "{}");
  expect(rest.continue).toBe(false);
  // Codex would cut a longer one again.
  expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(10_000);
  expect(reason).toMatch(
    /^Process exited with code 0\nOutput:\nline 1\n[\s\S]*line 5000\n[\s\S]*recall tool/,
  );
  writeFileSync(file, "");
  expect(await answer({ hook_event_name: "PreCompact", trigger: "auto" }, { agent: codex })).toBeUndefined();
});

it("says with a command what is asked for, and nothing with any other prompt", async () => {
  writeSession(typed("Go"));
  const asked = (prompt: string) => answer({ hook_event_name: "UserPromptSubmit", prompt });
  const { hookSpecificOutput } = JSON.parse((await asked("/carryover:context")) ?? "{}");
  expect(hookSpecificOutput.additionalContext).toMatch(/^\[Report of Carryover\]\nwindow +[\d,]+ tokens/);
  expect(await asked("/carryover:cost")).toContain("requests");
  expect(await asked("Say /carryover:cost")).toBeUndefined();
});

it("reports what the requests of a session used", async () => {
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 20,
  };
  const message = {
    id: "m",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: "Hi" }],
    usage,
  };
  writeSession(typed("Go"), { type: "assistant", message });
  const question = { what: "cost", sessionId: "", directory: "/project", env: env() };
  expect(await reportOf(claudeCode, question)).toMatch(
    /requests +1 \(claude-sonnet-4-5\)\ncost +\$0\.0002 [\s\S]*read from the cache: 100 tokens[\s\S]*sent uncached: 10 tokens/,
  );
});
