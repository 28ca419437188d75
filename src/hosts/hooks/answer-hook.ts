import { createPluginContext, type PluginContext } from "../../plugin/context/context.ts";
import type { AgentHost } from "../../plugin/host/agent-host.ts";
import { createBoundToolOutput } from "../../plugin/window/bound-output.ts";
import {
  inPieces,
  type SummedUp,
  shadowOf,
  summaryInstructions,
  textToPutBack,
} from "../../plugin/window/put-back.ts";
import { asString, type UnknownObject } from "../../text/json.ts";
import { textOf } from "../../transcript/message.ts";
import { createFileHost, readLines } from "./file-host.ts";
import type { HookAgent } from "./hook-agent.ts";
import { readHookOptions } from "./hook-options.ts";

/**
 * What one hook answers, if anything. A finished output is bounded: both ends stay, the whole goes under a handle. Before
 * the agent sums up, its request is told what it need not repeat, and a readable shadow of the window is kept. After it, the
 * user's own words, pins, files and open work are put back, in as many hooks as the agent needs for them.
 */
export async function answerHook(payload: UnknownObject, moment: HookMoment): Promise<string | undefined> {
  const { agent, env, log } = moment;
  const { options, problem } = await readHookOptions(env);
  if (problem !== undefined) {
    log("error", problem);
    return undefined;
  }
  const directory = asString(payload.cwd) ?? process.cwd();
  const file = asString(payload.transcript_path);
  const host = createFileHost(agent, { directory, env, log, findFile: async () => file });
  const context = createPluginContext({ host, options, env });
  const sessionId = asString(payload.session_id) ?? "unknown";
  const session: HookSession = { ...moment, payload, context, sessionId, file };
  switch (payload.hook_event_name) {
    case "PostToolUse":
      return boundOutput(session);
    case "PreCompact":
      return beforeSummary(session);
    case "SessionStart":
      return payload.source === "compact" ? afterSummary(session) : undefined;
    default:
      return undefined;
  }
}

export interface HookMoment {
  readonly agent: HookAgent;
  /** Which of several hooks of one moment this is, from 1. */
  readonly part: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: AgentHost["log"];
}

interface HookSession extends HookMoment {
  readonly payload: UnknownObject;
  readonly context: PluginContext;
  readonly sessionId: string;
  /** The file of the session. */
  readonly file: string | undefined;
}

async function boundOutput({ agent, payload, context, sessionId }: HookSession): Promise<string | undefined> {
  const output = agent.readOutput(payload);
  // Our own tools are bounded where they answer.
  if (output === undefined || OWN_TOOL.test(output.tool)) return undefined;
  const { replace, ...finished } = output;
  const change = await createBoundToolOutput(context).afterTool?.({ ...finished, sessionId });
  return change?.type === "replace" ? replace(change.text) : undefined;
}

const OWN_TOOL = /^mcp__(?:plugin_carryover_)?carryover__/;

async function beforeSummary(session: HookSession): Promise<string | undefined> {
  const { agent, context, sessionId, payload } = session;
  if (!isHelped(context)) return undefined;
  const shadow = await readSummed(session).then(
    (summed) => summed && shadowOf(summed, context.now()),
    // The instructions do not depend on it.
    (cause: unknown) => void session.log("warn", "no shadow of a compaction", { cause: String(cause) }),
  );
  if (shadow !== undefined) {
    const kept = await context.spills.put(shadow);
    const trigger = asString(payload.trigger) ?? "auto";
    if (kept.status === "failed") session.log("warn", `no shadow of a compaction: ${kept.reason}`);
    else {
      const { handle, path } = kept;
      context.record(sessionId, { type: "shadow", trigger, handle, path, chars: shadow.length });
    }
  }
  return agent.instructSummary?.(summaryInstructions());
}

async function afterSummary(session: HookSession): Promise<string | undefined> {
  const { agent, context, sessionId, part } = session;
  if (!isHelped(context)) return undefined;
  const summed = await readSummed(session);
  if (summed === undefined) return undefined;
  const { maxChars, hooks } = agent.context;
  const text = await textToPutBack(summed, { maxChars: maxChars * hooks - SEAM_CHARS * hooks });
  if (part === 1 && text !== "") context.record(sessionId, { type: "put-back", chars: text.length });
  const piece = inPieces(text, maxChars)[part - 1];
  return piece === undefined ? undefined : agent.addContext("SessionStart", piece);
}

/** What cutting between lines may leave unused of a hook. */
const SEAM_CHARS = 1_000;

function isHelped({ options }: PluginContext): boolean {
  return options.compaction !== "off" && options.profile !== "documented";
}

async function readSummed({ agent, context, file }: HookSession): Promise<SummedUp | undefined> {
  if (file === undefined) return undefined;
  const lines = await readLines(file);
  const { format, directory } = context.host;
  const transcript = format.decode(lines);
  const isCompacted = transcript.some(({ parts }) => parts.some(({ type }) => type === "compaction"));
  const window = isCompacted ? format.decode(agent.windowOf(lines) as typeof lines) : [];
  return {
    transcript,
    heldIn: window.map(textOf).join("\n"),
    pin: context.options.pin,
    directory,
    redaction: context.redaction,
  };
}
