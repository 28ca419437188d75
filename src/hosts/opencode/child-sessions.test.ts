import { describe, expect, it } from "vitest";
import { matches } from "../../agents/opencode/rule-pattern.ts";
import { askToStart } from "./ask-to-start.ts";
import { childRules, createChildSessions } from "./child-sessions.ts";
import type { ToolContext } from "./hooks.ts";
import type { HostAnswer, HostCalls } from "./host-calls.ts";
import type { PermissionRule } from "./limit-rules.ts";

/** In one line: `edit * deny, edit docs/* allow`. */
function rules(text: string): readonly PermissionRule[] {
  return text.split(", ").flatMap((line) => {
    const [permission = "", pattern = "", action] = line.split(" ");
    return action === undefined ? [] : [{ permission, pattern, action: action as PermissionRule["action"] }];
  });
}

function decide(list: readonly PermissionRule[], permission: string, text: string): string {
  const rule = list.findLast((each) => matches(permission, each.permission) && matches(text, each.pattern));
  return rule?.action ?? "ask";
}

const AGENTS = new Map(
  Object.entries({
    build: "* * allow",
    plan: "* * allow, edit * deny, edit plans/* allow, task general deny",
    coder: "* * allow",
    careful: "* * allow, bash * ask, edit * ask",
    reader: "* * allow, bash * deny, edit * deny",
    lister: "* * allow, todowrite * allow",
  }).map(([name, text]) => [name, rules(text)]),
);

describe("the rules of a child", () => {
  it.each([
    { caller: "build", agent: "build", can: "edit:allow bash:allow todowrite:deny task:deny question:deny" },
    { caller: "build", agent: "lister", can: "edit:allow todowrite:allow task:deny" },
    { caller: "build", agent: "careful", can: "edit:ask bash:ask" },
    { caller: "careful", agent: "coder", can: "edit:ask bash:ask" },
    { caller: "careful", agent: "reader", can: "edit:deny bash:deny" },
    { caller: "plan", agent: "plan", can: "edit:deny bash:allow" },
    { caller: "plan", agent: "coder", can: "edit:deny bash:allow" },
    { caller: "build", agent: "build", session: "bash * deny", can: "bash:deny edit:allow" },
    { caller: "build", agent: "coder", session: "bash * ask", can: "bash:ask edit:allow" },
    { caller: "careful", agent: "careful", session: "bash * allow", can: "bash:ask edit:ask" },
    { caller: "build", agent: "reader", session: "edit * allow", can: "edit:deny" },
    { caller: "build", agent: "coder", session: "edit * deny, edit x allow", can: "edit:deny" },
  ])("$caller → $agent, session $session: $can", ({ caller, agent, session = "", can }) => {
    const parentRules = rules(session);
    const made = childRules({ caller, agent }, { parentRules, agents: AGENTS, primaryTools: ["glob"] });
    const all = [...(AGENTS.get(agent) ?? []), ...made];
    for (const expected of [...can.split(" "), "glob:deny"]) {
      const [permission = "", action] = expected.split(":");
      expect(`${permission} ${decide(all, permission, "x")}`).toBe(`${permission} ${action}`);
    }
  });

  it("leave the tools of a fork of the same agent declared", () => {
    const made = childRules(
      { caller: "build", agent: "build" },
      { parentRules: [], agents: AGENTS, primaryTools: ["glob"] },
    );
    expect(made.filter(({ pattern }) => pattern === "*")).toEqual([]);
  });
});

const ok = (body: unknown): HostAnswer => ({ status: "ok", body });

/** A host with these sessions; gives what was sent to it. */
function createCalls(routes: Readonly<Record<string, HostAnswer>> = {}) {
  const sent: unknown[] = [];
  const agents = [...AGENTS].map(([name, permission]) => ({ name, permission }));
  const calls: HostCalls = {
    call: async (method, path, body) => {
      if (method !== "GET") sent.push(body);
      return routes[path] ?? ok(path === "/agent" ? agents : { id: "child" });
    },
  };
  return { calls, sent };
}

describe("a child that another agent speaks to", () => {
  const child = { childSessionId: "child", parentSessionId: "parent", agent: "build" };

  it("is held to what that agent may, its tools still declared", async () => {
    const { calls, sent } = createCalls();
    expect(await createChildSessions(calls).limitChild({ ...child, caller: "plan" })).toMatchObject({
      status: "ok",
    });
    const [{ permission }] = sent as [{ permission: readonly PermissionRule[] }];
    expect(decide(permission, "edit", "x")).toBe("deny");
    expect(decide(permission, "edit", "plans/x")).toBe("allow");
    expect(permission.filter(({ pattern, action }) => pattern === "*" && action === "deny")).toEqual([]);
  });

  it("is left alone where the agent may do as much", async () => {
    const { calls, sent } = createCalls();
    await createChildSessions(calls).limitChild({ ...child, caller: "build" });
    expect(sent).toEqual([]);
  });

  it("uses no tool that its session forbids, declared or not", async () => {
    const permission = rules("deploy ** deny, edit ** deny, bash * ask, read x deny");
    const { calls } = createCalls({ "/session/child": ok({ permission }) });
    const { isForbidden } = createChildSessions(calls);
    const tools = ["deploy", "write", "edit", "bash", "read", "other"];
    const asked = await Promise.all(
      tools.map((tool) => isForbidden({ sessionId: "child", tool, input: {} })),
    );
    expect(asked.map((answer) => answer.status === "ok" && answer.value)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it.each(["/session/parent", "/agent", "/config"])(
    "is not made, nor spoken to, where the host does not answer %s",
    async (path) => {
      const { calls, sent } = createCalls({ [path]: { status: "failed", code: 500, reason: "broken" } });
      const sessions = createChildSessions(calls);
      const made = await sessions.createChild({
        rootSessionId: "root",
        parentSessionId: "parent",
        caller: "build",
        agent: "build",
        model: { providerId: "p", modelId: "m" },
        title: "",
        note: {},
      });
      expect(made).toMatchObject({ status: "failed" });
      expect(await sessions.limitChild({ ...child, caller: "plan" })).toMatchObject({ status: "failed" });
      expect(sent).toEqual([]);
    },
  );
});

describe("asking OpenCode for a sub-agent", () => {
  const context = (ask: ToolContext["ask"]): ToolContext => ({
    sessionID: "parent",
    messageID: "m",
    agent: "build",
    abort: new AbortController().signal,
    metadata: () => {},
    ...(ask && { ask }),
  });

  it.each([
    { name: "as task does", session: { id: "parent" }, asked: ["task"] },
    {
      name: "for fork too, where a rule names it",
      session: { id: "parent", permission: rules("fork * ask") },
      asked: ["fork", "task"],
    },
    { name: "not below another sub-agent", session: { id: "parent", parentID: "root" }, asked: [] },
  ])("$name", async ({ session, asked }) => {
    const { calls } = createCalls({ "/session/parent": ok(session), "/config": ok({}) });
    const questions: string[] = [];
    const answer = await askToStart(calls, {
      agent: "coder",
      title: "Look",
      context: context(async ({ permission, patterns }) => {
        expect(patterns).toEqual(["coder"]);
        questions.push(permission);
      }),
    });
    expect(questions).toEqual(asked);
    expect(answer.status).toBe(asked.length === 0 ? "refused" : "allowed");
  });

  it.each(["/session/parent", "/config", "/agent"])("is refused where %s is not answered", async (path) => {
    const { calls } = createCalls({
      "/session/parent": ok({ id: "parent" }),
      "/config": ok({}),
      [path]: { status: "failed", code: 500, reason: "broken" },
    });
    let questions = 0;
    const ask = async (): Promise<void> => {
      questions++;
    };
    const answer = await askToStart(calls, { agent: "coder", title: "Look", context: context(ask) });
    expect(answer).toEqual({ status: "refused", reason: "the host did not say what is allowed" });
    expect(questions).toBe(0);
  });

  it("is refused where OpenCode cannot be asked", async () => {
    const { calls } = createCalls({ "/session/parent": ok({ id: "parent" }), "/config": ok({}) });
    const answer = await askToStart(calls, { agent: "coder", title: "Look", context: context(undefined) });
    expect(answer.status).toBe("refused");
  });

  it.each([
    {
      tag: "PermissionDeniedError",
      reason: "A rule of the user denies it (permission task).",
      rejects: false,
    },
    { tag: "PermissionRejectedError", reason: "No.", rejects: true },
    { tag: "PermissionCorrectedError", reason: "No.", rejects: false },
  ])("gives the reason of a $tag", async ({ tag, reason, rejects }) => {
    const { calls } = createCalls({ "/session/parent": ok({ id: "parent" }), "/config": ok({}) });
    const answer = await askToStart(calls, {
      agent: "coder",
      title: "Look",
      context: context(() => Promise.reject(Object.assign(new Error("No."), { _tag: tag }))),
    });
    expect(answer).toMatchObject({ status: "refused", reason });
    expect("rejection" in answer).toBe(rejects);
  });
});
