import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createTestContext } from "../../test/rig/plugin-context.ts";
import { removeFolder } from "../../test/rig/remove-folder.ts";
import { CHILD_VARIABLE } from "../agents/files/child-process.ts";
import type { ChildRights } from "../agents/files/file-agent.ts";
import { createAgentTools } from "../agents/hooks/agent-tools.ts";
import {
  CHILD_CANNOT,
  FORK_CANNOT,
  type ForbiddenAct,
  forbiddenText,
  isRefusal,
  LIMIT_REASON,
  notAllowedText,
  STOPPED_TEXT,
  wrapUpText,
} from "../fork/life/child-rules.ts";
import type { LimitName } from "../fork/life/record.ts";
import { taskText } from "../plugin/forks/task-text.ts";
import { createPlugin } from "../plugin/plugin.ts";
import { FORK_TOOLS } from "../plugin/tools/fork-tools.ts";
import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import { childRules } from "./opencode/child-sessions.ts";
import { opencodeTools } from "./opencode/tools.ts";
import { opencode2Tools } from "./opencode2/tools.ts";
import { rightsOf as rightsInPi } from "./pi/pi-agent.ts";

const ACTS: readonly ForbiddenAct[] = ["fork", "subagent", "question"];
const OF_AGENTS: readonly ForbiddenAct[] = ["question", "subagent"];
const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "child-rules-"));
afterAll(() => removeFolder(folder));

describe("what a child must not do", () => {
  it("is named as a whole to the child, to whoever starts it, and in the documentation", () => {
    const what = ACTS.map((act) => /cannot ([^.:]*)\./.exec(forbiddenText(act))?.[1] ?? "");
    for (const text of [CHILD_CANNOT, FORK_CANNOT]) for (const each of what) expect(text).toContain(each);
    const inherited = { mode: "none", status: "empty", reason: "" } as const;
    expect(taskText({ number: 1, task: "Go.", inherited, profile: "default" })).toContain(CHILD_CANNOT);
    const { context } = createTestContext();
    const { fork } = createPlugin(context.host, { store: folder }, { env: {} }).tools;
    expect(fork?.description).toContain(FORK_CANNOT);
    for (const page of ["security", "opencode", "claude-code", "codex", "pi"])
      expect(readFileSync(join(root, "docs", `${page}.md`), "utf8"), page).toContain(FORK_CANNOT);
  });

  it("is said by no other file of the source", () => {
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.endsWith("child-rules.ts"),
    );
    const said = /You are a fork|you are a fork and|cannot (?:start )?(?:fork|sub-?agent)|[Nn]obody answers/;
    const code = (file: string) =>
      readFileSync(join(root, "src", file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    // A sub-agent of Claude Code is no fork.
    expect(files.filter((file) => said.test(code(file)))).toEqual(["agents/hooks/run-hook.ts"]);
  });

  it("is refused in words by which the call is not counted", () => {
    const limits = Object.keys(LIMIT_REASON) as LimitName[];
    const refusals = [
      ...ACTS.map(forbiddenText),
      notAllowedText("bash"),
      STOPPED_TEXT,
      ...limits.map(wrapUpText),
    ];
    expect(refusals.filter((text) => !isRefusal(`Error: ${text}`))).toEqual([]);
    expect(isRefusal("No such file.")).toBe(false);
  });
});

describe("a tool that a child must not use", () => {
  it.each([
    { name: "OpenCode 1", tools: opencodeTools },
    { name: "OpenCode 2", tools: opencode2Tools },
  ])("is known for each act of the agent's own: $name", ({ tools }) => {
    expect([...new Set(tools.forbiddenToForks.values())].sort()).toEqual(OF_AGENTS);
  });

  it("is denied by the rules of a child's session in OpenCode 1", () => {
    const facts = { parentRules: [], agents: new Map([["build", []]]), primaryTools: [] };
    const rules = childRules({ caller: "build", agent: "build" }, facts);
    for (const tool of opencodeTools.forbiddenToForks.keys())
      expect(rules.findLast(({ permission }) => permission === tool)?.action).toBe("deny");
  });

  it("is switched off in the child's program of Claude Code, Codex and pi", () => {
    const startedWith = { words: [], isExact: true };
    const argsOf = (rights: ChildRights | string) => (rights as ChildRights).args.join(" ");
    const claude = claudeCode.child.rightsOf({ lines: [], mode: "default", startedWith });
    expect(argsOf(claude)).toMatch(/--disallowedTools(?=.* Task)(?=.* Agent)(?=.* AskUserQuestion)/);
    const payload = { approval_policy: "never", sandbox_policy: { type: "read-only" } };
    const lines = [{ type: "turn_context", payload }];
    const inCodex = codex.child.rightsOf({ lines, mode: undefined, startedWith });
    expect(argsOf(inCodex)).toMatch(/(?=.*features\.multi_agent=false)(?=.*approval_policy="never")/);
    const api = { getActiveTools: () => ["read", "forklift", ...FORK_TOOLS], getThinkingLevel: () => "low" };
    const inPi = rightsInPi(api as never, { model: undefined } as never);
    expect(argsOf(inPi)).toContain("--tools read,forklift");
    expect(argsOf(inPi)).not.toContain("fork_");
  });

  it("is not among those that we offer in a child's own process", async () => {
    const { context } = createTestContext();
    const plugin = createPlugin(context.host, { store: folder }, { env: {}, scope: "child" });
    expect(Object.keys(plugin.tools)).toEqual(["recall"]);
    const env = { HOME: folder, [CHILD_VARIABLE]: "s1" };
    const served = await createAgentTools(claudeCode, {
      env,
      directory: folder,
      log: () => {},
      version: "1",
    });
    expect(Object.keys(served.tools)).toEqual(["recall"]);
    await served.dispose();
  });

  it("is every tool of ours that starts forks or hears of them", () => {
    const { context } = createTestContext();
    const plugin = createPlugin(context.host, { store: folder }, { env: {} });
    expect(Object.keys(plugin.tools).filter((name) => name !== "recall")).toEqual(FORK_TOOLS);
  });
});
