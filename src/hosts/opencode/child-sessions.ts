import { readSession } from "../../agents/opencode/read-facts.ts";
import { matches } from "../../agents/opencode/rule-pattern.ts";
import type { HostSessions, HostValue } from "../../plugin/host/agent-host.ts";
import type { NewChild } from "../../plugin/host/host-parts.ts";
import { textOrJson } from "../../text/json.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { failureOf, type HostCalls, sessionPath } from "./host-calls.ts";
import { limitRules, type PermissionRule, rulesIn } from "./limit-rules.ts";
import { opencodeTools } from "./tools.ts";

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

/**
 * What `task` would give a sub-agent, no more than the agent that asks may itself, and nothing that is forbidden to forks.
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
  const forbidden = opencodeTools.forbiddenToForks.keys();
  const denied = [...forbidden, ...(hasTodos ? [] : ["todowrite"]), ...primaryTools];
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
