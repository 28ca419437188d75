import { matches } from "../../agents/opencode/rule-pattern.ts";
import type { HostValue } from "../../plugin/host/agent-host.ts";
import type { AskingAgent, HostAgent, StartAnswer } from "../../plugin/host/host-parts.ts";
import { textOrJson } from "../../text/json.ts";
import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import type { ToolContext } from "./hooks.ts";
import { failureOf, type HostCalls, sessionPath } from "./host-calls.ts";
import type { PermissionRule } from "./limit-rules.ts";
import { rulesIn } from "./limit-rules.ts";

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
