import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { call, callAll, type ScriptedCall, say } from "../../rig/model-server/step.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { childrenOf } from "./fork-support.ts";

const agent = (mode: string, rules: object = {}) => ({ mode, description: "Does things", ...rules });

/** Agents with all kinds of rules, so that one start of OpenCode serves the whole table. */
const CONFIG = {
  // Not the rig's `"*": "allow"`: it would come after the rules of plan mode and undo them.
  permission: { task: { forbidden: "deny", questioned: "ask" }, fork: { unforked: "deny" } },
  experimental: { primary_tools: ["recall"] },
  // Nothing is undone here, and each would cost a commit a step.
  snapshot: false,
  agent: {
    coder: agent("subagent"),
    reader: agent("subagent", { permission: { edit: "deny", bash: "deny" } }),
    asker: agent("subagent", { permission: { edit: "ask", bash: "ask" } }),
    toolless: agent("subagent", { tools: { write: false, edit: false, bash: false } }),
    partial: agent("subagent", { permission: { edit: { "*": "deny", "docs/*": "allow" } } }),
    forbidden: agent("subagent"),
    questioned: agent("subagent"),
    unforked: agent("subagent"),
    secret: agent("subagent", { hidden: true }),
    boss: agent("primary"),
    both: agent("all", { permission: { todowrite: "allow" } }),
    reviewer: agent("primary", { permission: { edit: "deny" } }),
    careful: agent("primary", { permission: { edit: "ask", bash: "ask" } }),
    shellless: agent("primary", { tools: { bash: false } }),
    writer: agent("primary", {
      permission: { edit: { "*": "deny", "docs/*": "allow" }, bash: { "*": "allow", "echo *": "deny" } },
    }),
    picky: agent("primary", { permission: { task: { "*": "deny", coder: "allow" } } }),
    alone: agent("primary", { permission: { task: "deny" } }),
    asking: agent("primary", { permission: { task: "ask" } }),
    looker: agent("primary", { permission: { "*": "deny", read: "allow", task: "allow", fork: "allow" } }),
  },
};

const shared = shareRig({ plugin: {}, config: CONFIG });

interface Rule {
  readonly permission: string;
  readonly pattern: string;
  readonly action: string;
}

/** Rules of a session in one line: `edit * deny, edit docs/* allow`. */
function rules(text: string): readonly Rule[] {
  return text.split(", ").flatMap((line) => {
    const [permission = "", pattern = "", action = ""] = line.split(" ");
    return action === "" ? [] : [{ permission, pattern, action }];
  });
}

/** Who calls in which session, and the agents asked for; `own` names none and is compared with a task for the caller. */
const TABLE: readonly { readonly caller: string; readonly session?: string; readonly agents: string }[] = [
  { caller: "build", agents: "own coder asker toolless partial" },
  { caller: "build", agents: "forbidden questioned unforked secret boss both" },
  { caller: "build", agents: "plan compaction general nobody" },
  { caller: "plan", agents: "own build coder general" },
  { caller: "reviewer", agents: "own coder asker" },
  { caller: "careful", agents: "own coder reader" },
  { caller: "shellless", agents: "own coder" },
  { caller: "writer", agents: "own coder" },
  { caller: "picky", agents: "own coder reader" },
  { caller: "alone", agents: "own coder" },
  { caller: "asking", agents: "own coder" },
  { caller: "looker", agents: "own coder" },
  { caller: "build", session: "bash * deny", agents: "own" },
  { caller: "build", session: "edit * deny, edit docs/* allow", agents: "own coder" },
  { caller: "build", session: "bash * ask", agents: "coder" },
  { caller: "careful", session: "bash * allow, edit * allow", agents: "own" },
  { caller: "plan", session: "edit * allow", agents: "coder" },
  { caller: "build", session: "task * deny", agents: "own" },
  { caller: "build", session: "external_directory * allow", agents: "reader" },
];

/** What each child tries. */
function attempts(marker: string): Readonly<Record<string, ScriptedCall>> {
  return {
    write: { tool: "write", input: { filePath: `${marker}.txt`, content: "x" } },
    docs: { tool: "write", input: { filePath: `docs/${marker}.txt`, content: "x" } },
    bash: { tool: "bash", input: { command: `echo x > ${marker}.sh`, description: "Write" } },
    read: { tool: "read", input: { filePath: "README.md" } },
    outside: { tool: "read", input: { filePath: "/etc/hostname" } },
    todos: { tool: "todowrite", input: { todos: [{ content: "a", status: "pending", priority: "low" }] } },
    recall: { tool: "recall", input: { search: "cat" } },
    task: { tool: "task", input: { description: "d", prompt: "Go.", subagent_type: "coder" } },
    fork: { tool: "fork", input: { prompt: "Go.", agent: "coder" } },
  };
}

/** Where the table is left to read. */
const REPORTS = "reports/opencode";

const OF_CALLER = ["write", "docs", "bash", "read", "outside"];

const LEVELS = ["no", "asked", "yes"] as const;
type Level = (typeof LEVELS)[number];

/** How far each attempt came; `start` is the child itself. */
type Played = Readonly<Record<string, Level>>;

scenario(
  "a fork does nothing that the host's own task would not, nor its caller",
  {
    shared,
    proves: "compared over callers, agents, rules of configuration, agent and session",
    leftoverSteps: "allow",
    timeoutMs: 1_200_000,
  },
  async (rig) => {
    const stop = answerQuestions(rig);
    const rows: string[] = [];
    const more: string[] = [];
    let less = 0;
    const queue = TABLE.entries();
    const work = async (): Promise<void> => {
      for (const [index, row] of queue) {
        const names = row.agents.split(" ");
        const played = await playRow(rig, { ...row, names, prefix: `r${index}` });
        const own = new Map(played).get("own")?.fork;
        for (const [name, { task, fork, said }] of played) {
          const title = `${row.caller} → ${name}${row.session === undefined ? "" : ` [${row.session}]`}`;
          rows.push(
            `${title}\n  task: ${show(task)}\n  fork: ${show(fork)} ${fork.start === "no" ? said : ""}`,
          );
          if (task.fork !== "no") more.push(`${title}: the sub-agent of task forked`);
          // A fork of the caller's own kind may do what the caller may, as far as these go.
          const beyond =
            own === undefined || own.start === "no"
              ? []
              : OF_CALLER.filter((what) => levelOf(fork, what) > levelOf(own, what));
          if (beyond.length > 0) more.push(`${title}: ${beyond.join(", ")} more than its caller`);
          const over = Object.keys(fork).filter((what) => levelOf(fork, what) > levelOf(task, what));
          if (over.length > 0) more.push(`${title}: ${over.join(", ")}`);
          else if (Object.keys(fork).some((what) => levelOf(fork, what) < levelOf(task, what))) less++;
        }
      }
    };
    await Promise.all([work(), work(), work()]);
    stop();
    const count = TABLE.flatMap(({ agents }) => agents.split(" ")).length;
    const summary = `${count} combinations: fork more than task in ${more.length}, less in ${less}`;
    mkdirSync(REPORTS, { recursive: true });
    writeFileSync(join(REPORTS, "fork-obeys.txt"), `${[...rows, summary].join("\n")}\n`);
    process.stdout.write(`${summary}\n`);
    expect(more).toEqual([]);
    expect(count).toBeGreaterThanOrEqual(40);
  },
);

interface Row {
  readonly caller: string;
  readonly session?: string;
  readonly names: readonly string[];
  readonly prefix: string;
}

type PlayedRow = ReadonlyMap<string, { readonly task: Played; readonly fork: Played; readonly said: string }>;

/** One turn in which the caller starts a task and a fork for each agent, all at once. */
async function playRow(rig: Rig, { caller, session = "", names, prefix }: Row): Promise<PlayedRow> {
  const id = await sessionWith(rig, session);
  const starts = names.flatMap((name, index) => {
    const [task, fork] = [`${prefix}t${index}x`, `${prefix}f${index}x`];
    const subagent = name === "own" ? caller : name;
    return [
      {
        marker: task,
        name,
        tool: "task",
        input: { description: task, prompt: `Try ${task}.`, subagent_type: subagent },
      },
      {
        marker: fork,
        name,
        tool: "fork",
        input: { title: fork, prompt: `Try ${fork}.`, wait_s: 120, ...(name !== "own" && { agent: name }) },
      },
    ];
  });
  for (const { marker } of starts) {
    const calls = Object.entries(attempts(marker)).map(([what, each]) => ({
      ...each,
      id: `${marker}_${what}`,
    }));
    rig.model.script([
      callAll(calls, { family: "child", contains: marker }),
      say("Done.", { family: "child", contains: `${marker}_read` }),
    ]);
  }
  await rig.turn(id, { text: "Go.", agent: caller }, [
    callAll(
      starts.map(({ marker, tool, input }) => ({ tool, input, id: `${marker}_start` })),
      { family: "top-level" },
    ),
    say("Seen.", { family: "top-level" }),
  ]);
  const asked = new Set(
    rig.events
      .filter(({ type }) => type === "permission.asked")
      .map(({ properties }) => (properties.tool as { readonly callID?: string } | undefined)?.callID),
  );
  const children = await childrenOf(rig, id);
  const parts = await partsOf(rig, [id, ...children.map((child) => child.id)]);
  const level = (callId: string, isDone: boolean): Level =>
    isDone ? (asked.has(callId) ? "asked" : "yes") : "no";
  const played = ({ marker }: (typeof starts)[number]): Played => {
    const child = children.find(({ title }) => title.includes(marker));
    const hasStarted = child !== undefined && rig.requests({ sessionId: child.id }).length > 0;
    return {
      start: level(`${marker}_start`, hasStarted),
      ...Object.fromEntries(
        Object.entries(attempts(marker)).map(([what, { tool }]) => {
          const part = parts.get(`${marker}_${what}`);
          const isDone = part?.status === "completed" && part.tool === tool && !REFUSED.test(part.text);
          return [what, level(`${marker}_${what}`, isDone)];
        }),
      ),
    };
  };
  return new Map(
    names.map((name) => {
      const [task, fork] = starts.filter((start) => start.name === name);
      if (task === undefined || fork === undefined) throw new Error(`${name} was not played`);
      const said = parts.get(`${fork.marker}_start`)?.text.slice(0, 150).replaceAll("\n", " ") ?? "";
      return [name, { task: played(task), fork: played(fork), said }];
    }),
  );
}

/** What our tools answer when they have done nothing. */
const REFUSED = /^(?:You are a fork|Not started|Nothing was done|There is no|Only people)/;

function levelOf(played: Played, what: string): number {
  return LEVELS.indexOf(played[what] ?? "no");
}

function show(played: Played): string {
  return Object.entries(played)
    .filter(([, level]) => level !== "no")
    .map(([what, level]) => (level === "asked" ? `${what}?` : what))
    .join(" ");
}

async function sessionWith(rig: Rig, permission: string): Promise<string> {
  const body = { title: "A session", ...(permission !== "" && { permission: rules(permission) }) };
  return ((await rig.opencode.call("POST", "/session", body)) as { readonly id: string }).id;
}

interface CallOutcome {
  readonly tool: string;
  readonly status: string;
  readonly text: string;
}

/** How the calls in these sessions ended, by their ids. */
async function partsOf(rig: Rig, sessionIds: readonly string[]): Promise<ReadonlyMap<string, CallOutcome>> {
  const lists = await Promise.all(sessionIds.map((id) => rig.opencode.messages(id)));
  return new Map(
    lists
      .flat()
      .flatMap(({ parts }) => parts)
      .filter(({ type }) => type === "tool")
      .map(({ callID, tool, state }) => {
        const { status, output, error } = state as Readonly<Record<"status" | "output" | "error", string>>;
        return [String(callID), { tool: String(tool), status, text: output ?? error ?? "" }];
      }),
  );
}

/** A person who answers each question. */
function answerQuestions(rig: Rig, reply: "once" | "reject" = "once"): () => void {
  const answered = new Set<string>();
  const timer = setInterval(() => {
    for (const { type, properties } of rig.events) {
      const askId = String(properties.id);
      if (type !== "permission.asked" || answered.has(askId)) continue;
      answered.add(askId);
      rig.opencode.call("POST", `/permission/${askId}/reply`, { reply }).catch(() => {});
    }
  }, 50);
  return () => clearInterval(timer);
}

scenario(
  "a fork that is resumed, or started with /subtask, obeys the agent that speaks to it",
  {
    shared,
    proves:
      "in plan mode a fork of build writes no more, with the same tools declared; a person's no ends the turn",
  },
  async (rig) => {
    const write = (name: string): ScriptedCall => ({
      tool: "write",
      input: { filePath: name, content: "x" },
    });
    const isThere = (name: string): boolean => existsSync(join(rig.sandbox.project, name));
    const id = await rig.newSession();
    rig.model.script([
      callAll([write("one.txt")], { family: "child", contains: "Write one." }),
      say("One.", { family: "child", contains: "Wrote file" }),
      callAll([write("two.txt")], { family: "child", contains: "Write two." }),
      say("Two.", { family: "child", contains: "two.txt" }),
    ]);
    const fork = { prompt: "Write one.", wait_s: 120 };
    await rig.turn(id, { text: "Fork.", agent: "build" }, [call("fork", fork), say("Forked.")]);
    const resume = { prompt: "Write two.", resume: "1", wait_s: 120 };
    await rig.turn(id, { text: "Go on.", agent: "plan" }, [call("fork", resume), say("Seen.")]);
    expect([isThere("one.txt"), isThere("two.txt")]).toEqual([true, false]);
    const requests = rig.requests({ parentSessionId: id });
    expect(new Set(requests.map(({ body }) => JSON.stringify(body.tools))).size).toBe(1);
    expect(requests.length).toBe(4);

    const other = await rig.newSession();
    rig.model.script([
      call("fork", { prompt: "Write three.", wait_s: 120 }, { sessionId: other }),
      callAll([write("three.txt")], { family: "child", contains: "Write three." }),
      say("Three.", { family: "child", contains: "three.txt" }),
      say("Seen.", { sessionId: other }),
    ]);
    const command = { command: "subtask", arguments: "Write three.", agent: "plan" };
    await rig.opencode.call("POST", `/session/${other}/command`, command);
    await rig.opencode.waitUntilIdle(other);
    expect(rig.requests({ parentSessionId: other }).length).toBe(2);
    expect(isThere("three.txt")).toBe(false);

    const stop = answerQuestions(rig, "reject");
    const asked = await rig.newSession();
    await rig.turn(asked, { text: "Fork.", agent: "asking" }, [
      call("fork", { prompt: "Look.", agent: "coder" }),
    ]);
    stop();
    expect(rig.requests({ sessionId: asked })).toHaveLength(1);

    const advised = await rig.newSession();
    const wrong = call("fork", { prompt: "Look.", agent: "nobody" });
    await rig.turn(advised, { text: "Fork.", agent: "plan" }, [wrong, say("No.")]);
    const said = [...(await partsOf(rig, [advised])).values()].find(({ tool }) => tool === "fork")?.text;
    const names = /take one of: (.*)\.$/.exec(said ?? "")?.[1]?.split(", ") ?? [];
    expect(names).toContain("explore");
    for (const denied of ["general", "forbidden", "unforked", "secret", "boss"])
      expect(names).not.toContain(denied);
    expect(await childrenOf(rig, asked)).toEqual([]);
  },
);

scenario(
  "opencode run starts no fork that somebody would have to allow",
  {
    plugin: {},
    config: CONFIG,
    start: "later",
    leftoverSteps: "allow",
    proves: "nobody is there to say yes, so the question is refused and no child is made",
  },
  async (rig) => {
    rig.model.script([
      call("fork", { prompt: "Look.", agent: "coder", wait_s: 60 }, { family: "top-level" }),
      say("Refused.", { family: "top-level" }),
      say("Looked.", { family: "child" }),
    ]);
    const result = await rig.run("--agent", "asking", "Fork.");
    expect(result.code).toBe(0);
    expect(rig.requests().filter(({ parentSessionId }) => parentSessionId !== undefined)).toEqual([]);
  },
);
