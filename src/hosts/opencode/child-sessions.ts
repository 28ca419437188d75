import type { HostSessions, HostValue } from "../../plugin/host/agent-host.ts";
import type { AskingAgent, HostAgent, NewChild, StartAnswer } from "../../plugin/host/host-parts.ts";
import { textOrJson } from "../../text/json.ts";
import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import type { ToolContext } from "./hooks.ts";
import { failureOf, type HostCalls, readSession, sessionPath } from "./sessions.ts";

/** Makes the sessions of children, with rules under which they may do at most what the host's own `task` would let them, and what their parent may. */
export function createChildSessions(
  calls: HostCalls,
): Pick<HostSessions, "createChild" | "limitChild" | "isForbidden" | "hasTool"> {
  return {
    async createChild(child) {
      const facts = await readFacts(calls, child);
      if (facts.status === "failed") return facts;
      const { rootSessionId, title, note } = child;
      const answer = await calls.call("POST", "/session", {
        // Under the root, since OpenCode hides the permission asks of anything deeper.
        parentID: rootSessionId,
        title,
        permission: childRules(child, facts.value),
        metadata: { carryover: note },
      });
      if (answer.status === "failed") return failureOf(answer);
      const id = asString(asObject(answer.body).id);
      return id === undefined
        ? refused("no-answer", "the host named no session")
        : { status: "ok", value: id };
    },
    async limitChild({ childSessionId, ...child }) {
      const facts = await readFacts(calls, child);
      if (facts.status === "failed") return facts;
      const session = await calls.call("GET", sessionPath(childSessionId));
      if (session.status === "failed") return failureOf(session);
      const { parentRules, agents } = facts.value;
      const granted = [...(agents.get(child.agent) ?? []), ...rulesIn(asObject(session.body).permission)];
      const added = limitRules(granted, [...(agents.get(child.caller) ?? []), ...parentRules]);
      if (added.length === 0) return { status: "ok", value: undefined };
      // OpenCode puts them behind those that the session has.
      const permission = added.map(declared);
      const answer = await calls.call("PATCH", sessionPath(childSessionId), { permission });
      return answer.status === "failed" ? failureOf(answer) : { status: "ok", value: undefined };
    },
    async hasTool(sessionId, tool) {
      const session = await calls.call("GET", sessionPath(sessionId));
      const facts = session.status === "ok" ? readSession(asObject(session.body)) : undefined;
      if (facts === undefined || session.status === "failed") return true;
      const listed = await calls.call("GET", "/agent");
      const agents = listed.status === "ok" && Array.isArray(listed.body) ? listed.body.map(asObject) : [];
      const own = agents.find(({ name }) => name === facts.agent)?.permission;
      const rules = [...rulesIn(own), ...rulesIn(asObject(session.body).permission)];
      // OpenCode leaves a tool out when the last rule about it denies everything.
      const last = rules.findLast((rule) => matches(tool, rule.permission));
      return !(last?.action === "deny" && last.pattern === "*");
    },
    async isForbidden({ sessionId, tool }) {
      const session = await calls.call("GET", sessionPath(sessionId));
      if (session.status === "failed") return failureOf(session);
      const permission = EDIT_TOOLS.has(tool) ? "edit" : tool;
      const rules = rulesIn(asObject(session.body).permission);
      const last = rules.findLast((rule) => matches(permission, rule.permission));
      return { status: "ok", value: last?.action === "deny" && last.pattern === DECLARED };
    },
  };
}

/** The agents of OpenCode, with those marked that a rule of the agent that asks, or of its session, denies to `task` or `fork`. */
export async function listAgents(
  calls: HostCalls,
  { sessionId, agent: asking }: AskingAgent,
): Promise<HostValue<readonly HostAgent[]>> {
  const [listed, session] = await Promise.all([
    calls.call("GET", "/agent"),
    calls.call("GET", sessionPath(sessionId)),
  ]);
  if (listed.status === "failed") return failureOf(listed);
  const agents = Array.isArray(listed.body) ? listed.body.map(asObject) : [];
  const own = agents.find(({ name }) => name === asking)?.permission;
  const ofSession = session.status === "ok" ? asObject(session.body).permission : undefined;
  const rules = [...rulesIn(own), ...rulesIn(ofSession)];
  const permissions = permissionsToStart(rules);
  const value = agents.map((agent) => {
    const found = readAgent(agent);
    return permissions.some((permission) => isDenied(rules, permission, found.name))
      ? { ...found, isDenied: true as const }
      : found;
  });
  return { status: "ok", value };
}

/** A fork is a sub-agent, and where a rule speaks of forks, that holds too. */
function permissionsToStart(rules: readonly PermissionRule[]): readonly string[] {
  const isNamed = rules.some(({ permission }) => permission !== "*" && matches("fork", permission));
  return isNamed ? ["fork", "task"] : ["task"];
}

function isDenied(rules: readonly PermissionRule[], permission: string, pattern: string): boolean {
  const last = rules.findLast(
    (rule) => matches(permission, rule.permission) && matches(pattern, rule.pattern),
  );
  return last?.action === "deny";
}

function readAgent({ name, hidden, mode, model }: UnknownObject): HostAgent {
  const { providerID, modelID } = asObject(model);
  const providerId = asString(providerID);
  const modelId = asString(modelID);
  return {
    name: textOrJson(name),
    isHidden: hidden === true,
    isPrimary: mode === "primary",
    ...(providerId !== undefined && modelId !== undefined && { model: { providerId, modelId } }),
  };
}

/** They share one permission. */
const EDIT_TOOLS: ReadonlySet<string> = new Set(["edit", "write", "apply_patch"]);

interface PermissionFacts {
  /** The rules of the parent's session. */
  readonly parentRules: readonly PermissionRule[];
  /** The rules of each agent. */
  readonly agents: ReadonlyMap<string, readonly PermissionRule[]>;
  /** Tools that OpenCode keeps from sub-agents. */
  readonly primaryTools: readonly string[];
}

async function readFacts(
  calls: HostCalls,
  { parentSessionId, caller, agent }: Pick<NewChild, "parentSessionId" | "caller" | "agent">,
): Promise<HostValue<PermissionFacts>> {
  const answers = await Promise.all(
    [sessionPath(parentSessionId), "/agent", "/config"].map((path) => calls.call("GET", path)),
  );
  const bodies: unknown[] = [];
  for (const answer of answers) {
    if (answer.status === "failed") return failureOf(answer);
    bodies.push(answer.body);
  }
  const [session, listed, config] = bodies;
  const agents = new Map(
    (Array.isArray(listed) ? listed.map(asObject) : []).map(({ name, permission }) => [
      textOrJson(name),
      rulesIn(permission),
    ]),
  );
  const unknown = [caller, agent].find((name) => !agents.has(name));
  if (unknown !== undefined) return refused("refused", `the host has no agent "${unknown}" any more`);
  const { primary_tools: primaryTools } = asObject(asObject(config).experimental);
  return {
    status: "ok",
    value: {
      parentRules: rulesIn(asObject(session).permission),
      agents,
      primaryTools: Array.isArray(primaryTools) ? primaryTools.map(textOrJson) : [],
    },
  };
}

function refused(code: "refused" | "no-answer", reason: string): HostValue<never> {
  return { status: "failed", code, reason };
}

function rulesIn(value: unknown): readonly PermissionRule[] {
  return Array.isArray(value) ? (value as readonly PermissionRule[]) : [];
}

/**
 * What `task` would give a sub-agent, no more than the agent that asks may itself, and neither questions nor sub-agents.
 * A child of the same agent has the tools of its parent declared, since another list would lose the provider's cached
 * prefix; what it must not use is refused when it is called.
 */
export function childRules(
  { caller, agent }: Pick<NewChild, "caller" | "agent">,
  { parentRules, agents, primaryTools }: PermissionFacts,
): readonly PermissionRule[] {
  const ofCaller = [...(agents.get(caller) ?? []), ...parentRules];
  const ofAgent = agents.get(agent) ?? [];
  // A sub-agent of OpenCode takes over of its parent's session what is denied there, and folders outside of the project.
  const taken = parentRules.filter(
    ({ permission, action }) => action === "deny" || permission === "external_directory",
  );
  const ofTask = [...ofAgent, ...taken];
  const rules =
    agent === caller
      ? [...parentRules, ...limitRules(ofCaller, ofTask).map(declared)]
      : [...taken, ...limitRules(ofTask, ofCaller)];
  const hasTodos = ofAgent.some(({ permission }) => permission === "todowrite");
  const denied = ["question", "task", ...(hasTodos ? [] : ["todowrite"]), ...primaryTools];
  return [...rules, ...denied.map((permission) => declared({ permission, pattern: "*", action: "deny" }))];
}

/**
 * Refused at execution: a deny with the pattern `*` would take the tool out of the request. OpenCode's own tools ask for
 * permission when they are called; for those of plugins, which do not, there is `isForbidden`.
 */
function declared(rule: PermissionRule): PermissionRule {
  return rule.action === "deny" && rule.pattern === "*" ? { ...rule, pattern: DECLARED } : rule;
}

const DECLARED = "**";

/** Whether OpenCode lets this call start a sub-agent: the decisions of its tool `task`, and rules about `fork` itself. */
export async function askToStart(
  calls: HostCalls,
  { agent, title, context }: StartQuestion,
): Promise<StartAnswer & { readonly rejection?: unknown }> {
  const { sessionID, ask } = context;
  if (ask === undefined) return { status: "refused", reason: "this OpenCode cannot be asked for permission" };
  const asked = await depthOf(calls, sessionID);
  const [config, listed] = await Promise.all([calls.call("GET", "/config"), calls.call("GET", "/agent")]);
  if (asked === undefined || config.status === "failed" || listed.status === "failed")
    return { status: "refused", reason: "the host did not say what is allowed" };
  const { depth, rules } = asked;
  const { subagent_depth: most = 1 } = asObject(config.body);
  if (depth >= Number(most))
    return { status: "refused", reason: `OpenCode allows ${most} level of sub-agents (subagent_depth)` };
  const agents = (Array.isArray(listed.body) ? listed.body : []).map(asObject);
  const own = rulesIn(agents.find(({ name }) => name === context.agent)?.permission);
  let permission = "task";
  try {
    for (permission of permissionsToStart([...own, ...rules]))
      await ask({
        permission,
        patterns: [agent],
        always: [agent],
        metadata: { description: title, subagent_type: agent },
      });
    return { status: "allowed" };
  } catch (cause) {
    const { _tag: kind } = asObject(cause);
    const said = cause instanceof Error ? cause.message : String(cause);
    const reason = kind === DENIED ? `A rule of the user denies it (permission ${permission}).` : said;
    return { status: "refused", reason, ...(kind === REJECTED && { rejection: cause }) };
  }
}

/** OpenCode's own text lists all rules. */
const DENIED = "PermissionDeniedError";

/** A person said no, and nothing more. */
const REJECTED = "PermissionRejectedError";

interface StartQuestion {
  readonly agent: string;
  /** For the person who is asked. */
  readonly title: string;
  readonly context: ToolContext;
}

/** How many sessions are above one, and its rules. */
async function depthOf(calls: HostCalls, sessionId: string): Promise<SessionDepth | undefined> {
  const read = async (id: string): Promise<UnknownObject | undefined> => {
    const answer = await calls.call("GET", sessionPath(id));
    return answer.status === "failed" ? undefined : asObject(answer.body);
  };
  const first = await read(sessionId);
  let current = first;
  let depth = 0;
  for (let parent = asString(current?.parentID); parent !== undefined; parent = asString(current?.parentID)) {
    depth++;
    current = await read(parent);
  }
  return current === undefined || first === undefined
    ? undefined
    : { depth, rules: rulesIn(first.permission) };
}

interface SessionDepth {
  readonly depth: number;
  readonly rules: readonly PermissionRule[];
}

/** A rule of OpenCode. Of all that fit a permission and what it is about, the last decides; where none fits, a person is asked. */
export interface PermissionRule {
  readonly permission: string;
  readonly pattern: string;
  readonly action: PermissionAction;
}

type PermissionAction = "allow" | "ask" | "deny";

/**
 * The rules to add behind `granted` so that nothing is allowed any more that `limit` does not allow, and nothing that
 * `granted` did not allow. Where two patterns meet in a way that no pattern can say, more is denied than needed.
 */
export function limitRules(
  granted: readonly PermissionRule[],
  limit: readonly PermissionRule[],
): readonly PermissionRule[] {
  const found: PermissionRule[] = [];
  for (const outer of [UNKNOWN, ...limit]) {
    if (outer.action === "deny") found.push(outer);
    else for (const inner of [UNKNOWN, ...granted]) found.push(...bothOf(outer, inner));
  }
  const rules = found.filter((rule, index) => !found.slice(index + 1).some((later) => covers(later, rule)));
  const isNeeded = rules.some((rule, index) => !isKept(granted, rule, rules.slice(index + 1)));
  return isNeeded ? rules : [];
}

const UNKNOWN: PermissionRule = { permission: "*", pattern: "*", action: "ask" };

const STRICTNESS: Readonly<Record<PermissionAction, number>> = { deny: 0, ask: 1, allow: 2 };

/** Where both rules fit: the stricter of their actions. */
function bothOf(outer: PermissionRule, inner: PermissionRule): readonly PermissionRule[] {
  const permission = overlap(outer.permission, inner.permission);
  const pattern = overlap(outer.pattern, inner.pattern);
  if (permission === "none" || pattern === "none") return [];
  const action = STRICTNESS[inner.action] < STRICTNESS[outer.action] ? inner.action : outer.action;
  if (permission !== "some" && pattern !== "some")
    return [{ permission: permission.text, pattern: pattern.text, action }];
  if (action === "allow") return [];
  const stricter = inner.action === action ? inner : outer;
  return [{ ...stricter, action: "deny" }];
}

/** Whether `granted` already keeps a rule wherever no later rule decides. */
function isKept(
  granted: readonly PermissionRule[],
  rule: PermissionRule,
  later: readonly PermissionRule[],
): boolean {
  for (const known of [UNKNOWN, ...granted].toReversed()) {
    const meet = bothOf({ ...rule, action: "allow" }, { ...known, action: "allow" });
    const isElsewhere =
      overlap(rule.permission, known.permission) === "none" ||
      overlap(rule.pattern, known.pattern) === "none";
    const isDecidedLater = meet.length > 0 && meet.every((each) => later.some((next) => covers(next, each)));
    if (isElsewhere || isDecidedLater) continue;
    if (STRICTNESS[known.action] > STRICTNESS[rule.action]) return false;
    if (covers(known, rule)) return true;
  }
  return true;
}

/** True where the first rule fits everything that the second fits. */
function covers(wide: PermissionRule, narrow: PermissionRule): boolean {
  return contains(wide.permission, narrow.permission) && contains(wide.pattern, narrow.pattern);
}

/** What two patterns have in common: nothing, the whole of one of them, or something that is no pattern. */
function overlap(a: string, b: string): "none" | "some" | { readonly text: string } {
  if (contains(a, b)) return { text: b };
  if (contains(b, a)) return { text: a };
  return isApart(a, b) ? "none" : "some";
}

/** True only if every text that fits `b` fits `a`. */
function contains(a: string, b: string): boolean {
  if (a === b || a === "*" || a === "**") return true;
  if (!WILD.test(a)) return false;
  // A question mark stands for one sign, and a star in `b` for many.
  if (a.includes("?")) return false;
  return matches(b, a) && (!b.endsWith(" *") || matches(b.slice(0, -2), a));
}

/** True only if no text fits both. */
function isApart(a: string, b: string): boolean {
  if (!WILD.test(a)) return !matches(a, b);
  if (!WILD.test(b)) return !matches(b, a);
  const [startA, startB] = [fixedStart(a), fixedStart(b)];
  const [endA, endB] = [fixedEnd(a), fixedEnd(b)];
  const isStartShared = startA.startsWith(startB) || startB.startsWith(startA);
  const isEndShared = endA.endsWith(endB) || endB.endsWith(endA);
  return !isStartShared || !isEndShared;
}

const WILD = /[*?]/;

/** The last blank and star of a command may be missing. */
function fixedStart(pattern: string): string {
  return pattern.replace(/ \*$/, "*").replace(/[*?].*$/s, "");
}

function fixedEnd(pattern: string): string {
  return pattern.replace(/^.*[*?]/s, "");
}

/** Whether a text fits a pattern, as OpenCode decides it. */
export function matches(text: string, pattern: string): boolean {
  const source = pattern
    .replaceAll("\\", "/")
    .replace(/[.+^${}()|[\]]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")
    .replace(/ \.\*$/, "( .*)?");
  return new RegExp(`^${source}$`, "s").test(text.replaceAll("\\", "/"));
}
