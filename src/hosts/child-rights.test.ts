import { afterEach, describe, expect, it } from "vitest";
import type { ChildRights } from "../agents/files/file-agent.ts";
import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import { rightsOf as rightsInPi } from "./pi/pi-agent.ts";

const NO_WORDS = { words: [], isExact: true };

describe("the child of a fork in Claude Code", () => {
  const rightsOf = (mode: string | undefined, words: readonly string[] = [], isExact = true) =>
    claudeCode.child.rightsOf({ lines: [], mode, startedWith: { words, isExact } });
  const argsOf = (...given: Parameters<typeof rightsOf>) =>
    (rightsOf(...given) as ChildRights).args.join(" ");
  const ALWAYS = "--disallowedTools Task Agent Workflow AskUserQuestion";

  it.each(["plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions"])(
    "has the mode of its parent: %s",
    (mode) => expect(argsOf(mode)).toBe(`--permission-mode ${mode} ${ALWAYS}`),
  );

  it("asks for everything in a mode that is not known, and nobody answers", () => {
    expect(argsOf("yolo")).toBe(`--permission-mode default ${ALWAYS}`);
  });

  it("is not started by a call that no hook has seen, whatever the session's mode is", () => {
    const lines = [{ permissionMode: "bypassPermissions" }, { type: "assistant" }];
    const found = claudeCode.child.rightsOf({ lines, mode: undefined, startedWith: NO_WORDS });
    expect(found).toContain("No hook has said who calls");
  });

  it("is held to the limits that its parent was started with", () => {
    const limits =
      "--disallowedTools WebFetch Bash(git push *) --settings {} --tools Read --strict-mcp-config";
    const words = [
      "-p",
      "--disallowedTools",
      "WebFetch",
      "Bash(git push *)",
      "--settings",
      "{}",
      "--tools",
      "Read",
    ];
    const all = [
      ...words,
      "--verbose",
      "--strict-mcp-config",
      "--dangerously-skip-permissions",
      "--resume",
      "x",
    ];
    expect(argsOf("default", all)).toBe(`--permission-mode default ${limits} ${ALWAYS}`);
    expect(argsOf("default", ["--tools=Read", "Say it"])).toBe(
      `--permission-mode default --tools=Read ${ALWAYS}`,
    );
  });

  it.each([
    [["--allowedTools", "Read", "--", "--allowedTools=Bash"], "--allowedTools Read "],
    [["--", '--settings={"hooks":{}}'], ""],
    [["--", "--settings", "{}", "--plugin-dir", "/p", "--mcp-config", "{}"], ""],
    [["-n", "--allowedTools=Bash", "Say it"], ""],
    [["--append-system-prompt", "--settings={}"], "--append-system-prompt --settings={} "],
    [["--output-format", "json", "--permission-prompt-tool", "--tools=Bash"], ""],
  ])("gets none of its options from a text: %j", (words, carried) => {
    expect(argsOf("default", words)).toBe(`--permission-mode default ${carried}${ALWAYS}`);
  });

  it("is not started behind an option that may have taken the next for its value", () => {
    expect(rightsOf("default", ["--newer", "--settings={}"])).toContain("does not tell");
  });

  it.each([
    [["--max-budget-usd", "0.10", "Say it"], 0.1],
    [["--max-budget-usd", "3", "--", "--max-budget-usd=0"], 3],
    [["-p", "--", "--max-budget-usd=0"], undefined],
    [["-n", "--max-budget-usd=0"], undefined],
    [["--max-budget-usd=3", "--max-budget-usd", "2"], 2],
    [["-p", "Say it"], undefined],
  ])("may cost what its parent may that was started with %j: %s", (words, maxUSD) => {
    expect((rightsOf("default", words) as ChildRights).maxUSD).toBe(maxUSD);
  });

  it("is not started where those limits cannot be told apart", () => {
    expect(rightsOf("default", ["--disallowedTools", "Bash(git", "push)"], false)).toContain("does not tell");
    expect(rightsOf("default", ["say", "--", "it", "--disallowedTools", "Bash"], false)).toContain(
      "does not tell",
    );
    expect(rightsOf("default", ["--resume", "x"], false)).toMatchObject({ rank: 1 });
    expect(claudeCode.child.rightsOf({ lines: [], mode: "plan", startedWith: undefined })).toContain(
      "does not tell",
    );
  });
});

describe("the child of a fork in Codex", () => {
  const READ_ALL = { path: { type: "special", value: { kind: "root" } }, access: "read" };
  const managed = (...entries: readonly object[]) => ({ type: "managed", file_system: { entries } });
  const rightsOf = (
    approval_policy: unknown,
    sandbox_policy: object,
    permission_profile: object = managed(READ_ALL),
  ) =>
    codex.child.rightsOf({
      lines: [
        {
          type: "turn_context",
          payload: { approval_policy: "never", sandbox_policy: { type: "danger-full-access" } },
        },
        { type: "turn_context", payload: { approval_policy, sandbox_policy, permission_profile } },
      ],
      mode: undefined,
      startedWith: NO_WORDS,
    });

  it.each([
    ["never", "read-only", "read-only"],
    ["never", "workspace-write", "workspace-write"],
    ["never", "danger-full-access", "danger-full-access"],
    ["never", "external-sandbox", "read-only"],
    ["on-request", "read-only", "read-only"],
    ["on-request", "workspace-write", "workspace-write"],
    ["on-request", "danger-full-access", "workspace-write"],
    ["on-failure", "workspace-write", "workspace-write"],
    ["untrusted", "workspace-write", "read-only"],
    ["untrusted", "danger-full-access", "read-only"],
    [{ granular: {} }, "workspace-write", "read-only"],
  ])("of a parent that asks %j in the sandbox %s is in %s and never asks", (approval, type, expected) => {
    const { args } = rightsOf(approval, { type }) as ChildRights;
    expect(args).toContain(`sandbox_mode="${expected}"`);
    expect(args).toContain('approval_policy="never"');
  });

  it("writes where its parent may, and has the network only where its parent has it", () => {
    const policy = { type: "workspace-write", writable_roots: ["/other"], network_access: true };
    const { args } = rightsOf("never", policy) as ChildRights;
    expect(args).toContain("sandbox_workspace_write.network_access=true");
    expect(args).toContain('sandbox_workspace_write.writable_roots=["/other"]');
    const { args: plain } = rightsOf("never", { type: "workspace-write" }) as ChildRights;
    expect(plain).toContain("sandbox_workspace_write.network_access=false");
    expect(plain).toContain("sandbox_workspace_write.writable_roots=[]");
  });

  it("is not started by a session whose rules no sandbox mode says", () => {
    const denied = { path: { type: "path", path: "/secret" }, access: "none" };
    expect(rightsOf("never", { type: "workspace-write" }, managed(READ_ALL, denied))).toContain(
      "rules for files",
    );
    expect(rightsOf("never", { type: "workspace-write" }, managed())).toContain("rules for files");
    expect(rightsOf("never", { type: "workspace-write" }, { type: "external" })).toContain("rules for files");
    expect(codex.child.rightsOf({ lines: [], mode: undefined, startedWith: NO_WORDS })).toContain(
      "not known",
    );
  });

  it("has the settings that its parent was started with, and its sandbox behind them", () => {
    const lines = [
      { type: "turn_context", payload: { approval_policy: "never", sandbox_policy: { type: "read-only" } } },
    ];
    const words = [
      "-c",
      'sandbox_mode="danger-full-access"',
      "exec",
      "--profile",
      "work",
      "--json",
      "Say it",
    ];
    const { args } = codex.child.rightsOf({
      lines,
      mode: undefined,
      startedWith: { words, isExact: true },
    }) as ChildRights;
    expect(args.slice(0, 4)).toEqual(["-c", 'sandbox_mode="danger-full-access"', "--profile", "work"]);
    expect(args.lastIndexOf('sandbox_mode="read-only"')).toBeGreaterThan(1);
  });

  it.each([
    { words: ["exec", "--", "-c", 'sandbox_mode="danger-full-access"'] },
    { words: ["exec", "--", "--profile=open", "-cfeatures.multi_agent=true"] },
    { words: ["-C", "-popen", "-o", "--oss", "exec"] },
  ])("gets none of its settings from a text: $words", ({ words }) => {
    const lines = [{ type: "turn_context", payload: { sandbox_policy: { type: "read-only" } } }];
    const rights = (given: readonly string[]) =>
      codex.child.rightsOf({ lines, mode: undefined, startedWith: { words: given, isExact: true } });
    expect(rights(words)).toEqual(rights([]));
  });

  it.each([
    [["exec", "Say it"], false],
    [["-m", "some", "e", "Say it"], false],
    [["--", "exec"], true],
    [["-p", "exec"], true],
    [["exec it"], true],
  ])("is waited for where its parent ends with its turn: %j", (words, isAttended) => {
    expect(codex.isAttended({}, { words, isExact: true })).toBe(isAttended);
  });
});

describe("the child of a fork in pi", () => {
  const { argv } = process;
  afterEach(() => {
    process.argv = argv;
  });
  const argsOf = (...words: readonly string[]) => {
    process.argv = ["node", "pi", ...words];
    const api = { getActiveTools: () => ["read", "fork"], getThinkingLevel: () => "low" };
    return rightsInPi(api as never, { model: undefined } as never).args.join(" ");
  };
  const ALWAYS = "--thinking low --tools read";

  it("has what its parent was started with", () => {
    expect(argsOf("--offline", "-xt", "bash", "-ne", "Say it", "-e", "x.ts")).toBe(
      `${ALWAYS} --offline -xt bash -ne -e x.ts`,
    );
    expect(argsOf("--mine", "--offline")).toBe(`${ALWAYS} --offline`);
  });

  it.each([
    [["--", "-e", "evil.ts"], ""],
    [["--name", "--approve", "Say it"], ""],
    [["--append-system-prompt", "--", "-xt", "bash"], " --append-system-prompt -- -xt bash"],
  ])("gets none of its options from a text: %j", (words, carried) => {
    expect(argsOf(...words)).toBe(`${ALWAYS}${carried}`);
  });
});
