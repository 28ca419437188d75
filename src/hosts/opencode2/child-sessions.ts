import { isAbsolute, relative, resolve } from "node:path";
import type { ChildNotes } from "../../agents/child-notes.ts";
import { randomText } from "../../agents/opencode/random-text.ts";
import { DEFAULT_AGENT } from "../../agents/opencode/read-facts.ts";
import { matches } from "../../agents/opencode/rule-pattern.ts";
import type { HostSessions, HostValue, ToolCall } from "../../plugin/host/agent-host.ts";
import type { AskingAgent, HostAgent, StartAnswer } from "../../plugin/host/host-parts.ts";
import { textOrJson } from "../../text/json.ts";
import { asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import { listedIn, type SetupContext } from "./abilities.ts";
import { ask } from "./sessions.ts";
import { opencode2Tools } from "./tools.ts";

/**
 * Makes the sessions of children. A child of the same agent has the same rules and the same tools; one of another agent is
 * also held to the rules of the agent that asked for it, call by call, since the host has no rules for one session here.
 */
export function createChildSessions(setup: ChildSessionsSetup): ChildSessions {
  const { context, notes, directory, now = Date.now } = setup;

  async function rulesOf(agent: string): Promise<readonly HostRule[] | undefined> {
    const listed = await ask(async () => listedIn(await context.agent.list()));
    const found = listed.status === "ok" ? listed.value.find(({ id }) => id === agent) : undefined;
    return found && listedIn(found.permissions).map(readRule);
  }

  return {
    async createChild({ rootSessionId, caller, agent, model, title, note }) {
      const sessionId = newSessionId(now());
      // First, so that the event of the new session finds it.
      const kept = await notes.add({
        sessionId,
        rootSessionId,
        note,
        callers: caller === agent ? [] : [caller],
        atMs: now(),
      });
      if (kept.status === "failed") return kept;
      const made = await ask(async () =>
        asObject(
          await context.session.create({
            id: sessionId,
            title,
            agent,
            model: omitUndefined({ id: model.modelId, providerID: model.providerId, variant: model.variant }),
            location: { directory },
            // Not taken in the snapshot; GA takes them.
            parentID: rootSessionId,
            metadata: { carryover: note },
          }),
        ),
      );
      if (made.status === "failed") {
        if (made.code !== "no-answer") await notes.remove(sessionId);
        return made;
      }
      return { status: "ok", value: asString(made.value.id) ?? sessionId };
    },
    async limitChild({ childSessionId, caller, agent }) {
      const child = await notes.of(childSessionId);
      if (child === undefined) return { status: "failed", code: "missing", reason: "it is no child of ours" };
      if (caller === agent || child.callers.includes(caller)) return { status: "ok", value: undefined };
      return notes.add({ ...child, callers: [...child.callers, caller] });
    },
    async isForbidden(call): Promise<HostValue<boolean>> {
      const { callers = [] } = (await notes.of(call.sessionId)) ?? {};
      for (const caller of callers) {
        const rules = await rulesOf(caller);
        if (rules === undefined)
          return { status: "failed", code: "refused", reason: `the host has no agent "${caller}" any more` };
        if (!mayCall(rules, call, directory)) return { status: "ok", value: true };
      }
      return { status: "ok", value: false };
    },
    async mayStart(caller, agent) {
      const rules = await rulesOf(caller);
      if (rules === undefined) return { status: "refused", reason: "The host did not say what is allowed." };
      const action = actionToStart(rules);
      const effect = effectOf(rules, action, agent);
      if (effect === "allow") return { status: "allowed" };
      const reason =
        effect === "deny"
          ? `A rule of the user denies it (permission ${action}).`
          : `A rule of the user wants to be asked first (permission ${action}), and a plugin cannot ask here. The user can allow it: permissions, ${action}, "${agent}": "allow".`;
      return { status: "refused", reason };
    },
    async agents({ agent: asking }) {
      const listed = await ask(async () => listedIn(await context.agent.list()));
      if (listed.status === "failed") return listed;
      const own = listed.value.find(({ id }) => id === asking);
      const rules = listedIn(own?.permissions).map(readRule);
      const action = actionToStart(rules);
      const value = listed.value.map((each) => {
        const found = readAgent(each);
        return effectOf(rules, action, found.name) === "deny" ? { ...found, isDenied: true as const } : found;
      });
      return { status: "ok", value };
    },
  };
}

interface ChildSessionsSetup {
  readonly context: SetupContext;
  readonly notes: ChildNotes;
  readonly directory: string;
  readonly now?: () => number;
}

interface ChildSessions extends Pick<HostSessions, "createChild" | "limitChild" | "isForbidden"> {
  /** Whether an agent may start a sub-agent, or speak to one, by the rules about `subagent`, or about `fork` where there are any. */
  mayStart(caller: string, agent: string): Promise<StartAnswer>;
  agents(asking: AskingAgent): Promise<HostValue<readonly HostAgent[]>>;
}

/** A rule of OpenCode 2. Of all that fit an action and what it is about, the last decides; where none fits, a person is asked. */
interface HostRule {
  readonly action: string;
  readonly resource: string;
  readonly effect: string;
}

function readRule({ action, resource, effect }: UnknownObject): HostRule {
  return { action: textOrJson(action), resource: textOrJson(resource), effect: textOrJson(effect) };
}

function effectOf(rules: readonly HostRule[], action: string, resource: string): string {
  const last = rules.findLast((rule) => matches(action, rule.action) && matches(resource, rule.resource));
  return last?.effect ?? "ask";
}

/** A fork is a sub-agent, unless a rule speaks of forks. */
function actionToStart(rules: readonly HostRule[]): string {
  return isNamed(rules, "fork") ? "fork" : "subagent";
}

function isNamed(rules: readonly HostRule[], action: string): boolean {
  return rules.some((rule) => rule.action !== "*" && matches(action, rule.action));
}

/** Whether all that a call is about is allowed. What would need a permission ask is not allowed: no person is asked on behalf of another agent. */
function mayCall(rules: readonly HostRule[], { tool, input }: CalledTool, directory: string): boolean {
  const action = EDIT_TOOLS.has(tool) ? "edit" : tool;
  const resources = resourcesOf({ tool, input }, directory);
  // What a command is about cannot be told from its text alone: every rule about it must allow it.
  if (tool === "shell" && !/^[\w\s./:=@,+%-]*$/.test(resources[0] ?? "")) {
    const about = rules.filter((rule) => matches(action, rule.action));
    const start = about.findLastIndex(({ resource }) => resource === "*");
    return start !== -1 && about.slice(start).every(({ effect }) => effect === "allow");
  }
  return resources.every((resource) => effectOf(rules, action, resource) === "allow");
}

type CalledTool = Pick<ToolCall, "tool" | "input">;

const EDIT_TOOLS: ReadonlySet<string> = new Set(["edit", "write", "patch"]);

/** What a call is about, as the host names it in its rules. */
function resourcesOf({ tool, input }: CalledTool, directory: string): readonly string[] {
  const { command, path, pattern, url, query, name } = asObject(input);
  if (tool === "shell") return [asString(command)?.trim() ?? "*"];
  const files = EDIT_TOOLS.has(tool) ? opencode2Tools.writtenFiles(tool, input) : [];
  const paths = files.length > 0 ? files : tool === "read" ? [asString(path) ?? "."] : [];
  if (paths.length > 0) return paths.map((each) => placeOf(each, directory));
  return [asString(pattern) ?? asString(url) ?? asString(query) ?? asString(name) ?? "*"];
}

/** Within the folder a path from there, outside an absolute one. */
function placeOf(path: string, directory: string): string {
  const from = relative(directory, resolve(directory, path));
  const isOutside = from.startsWith("..") || isAbsolute(from);
  return (isOutside ? resolve(directory, path) : from || ".").replaceAll("\\", "/");
}

function readAgent({ id, mode, hidden, model }: UnknownObject): HostAgent {
  const { id: modelId, providerID, variant } = asObject(model);
  const named = { modelId: asString(modelId), providerId: asString(providerID) };
  return {
    name: asString(id) ?? DEFAULT_AGENT,
    isHidden: hidden === true,
    isPrimary: mode === "primary",
    ...(named.modelId !== undefined &&
      named.providerId !== undefined && {
        model: { ...named, ...omitUndefined({ variant: asString(variant) }) } as HostAgent["model"],
      }),
  } as HostAgent;
}

/** A new id in the host's own form, in which newer sessions come first. */
function newSessionId(atMs: number): string {
  const time = ~(BigInt(atMs) * 0x1000n) & 0xffff_ffff_ffffn;
  return `ses_${time.toString(16).padStart(12, "0")}${randomText(14)}`;
}
