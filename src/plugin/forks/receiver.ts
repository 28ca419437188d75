import type { ForkModel } from "../../fork/life/record.ts";
import type { PluginContext } from "../context/context.ts";
import type { TurnSettings } from "../host/agent-host.ts";
import type { HostAgent, ModelFacts } from "../host/host-parts.ts";

export interface NotLaunched {
  readonly status: "refused";
  /** For the model: what is wrong and what to do. */
  readonly reason: string;
}

export type Receiver =
  | {
      readonly status: "found";
      readonly agent: string;
      readonly model: ForkModel;
      readonly differs: "same" | "other-agent" | "other-model" | "other-provider";
    }
  | NotLaunched;

export async function receiverOf({ context, request, parentTurn }: ReceiverInput): Promise<Receiver> {
  const { sessionId, caller, agent = caller, model } = request;
  const parentModel =
    parentTurn.model ?? (model === undefined ? undefined : { providerId: model.provider, modelId: model.id });
  if (parentModel === undefined)
    return { status: "refused", reason: "Not started: the model of this session is unknown." };
  if (agent === caller) return { status: "found", agent, model: parentModel, differs: "same" };
  const listed = await context.host.agents({ sessionId, agent: caller });
  const agents = listed.status === "ok" ? listed.value : [];
  const offered = agents.filter(({ isHidden, isPrimary }) => !isHidden && !isPrimary);
  const found = offered.find(({ name }) => name === agent);
  if (found === undefined) {
    const isPrimary = agents.some(({ name, isHidden }) => name === agent && !isHidden);
    const what = isPrimary ? `Only people choose agent "${agent}".` : `There is no agent "${agent}".`;
    return { status: "refused", reason: `${what} ${adviceOf({ agents, offered, caller })}` };
  }
  const chosen = found.model ?? parentModel;
  if (chosen.providerId !== parentModel.providerId) {
    if (!context.options.fork.allowCrossProvider) {
      return {
        status: "refused",
        reason: `Agent "${agent}" runs at another provider (${chosen.providerId}), which the option allowCrossProvider does not allow. Leave the agent out, or do it yourself.`,
      };
    }
    return { status: "found", agent, model: chosen, differs: "other-provider" };
  }
  const isSameModel = chosen.modelId === parentModel.modelId;
  return { status: "found", agent, model: chosen, differs: isSameModel ? "other-agent" : "other-model" };
}

/** What the model may do instead: only what no rule denies it. */
function adviceOf({ agents, offered, caller }: AdviceInput): string {
  const isOwnDenied = agents.some(({ name, isDenied }) => name === caller && isDenied);
  const names = offered.filter(({ isDenied }) => !isDenied).map(({ name }) => name);
  const advice = [
    ...(isOwnDenied ? [] : ["leave it out for your own"]),
    ...(names.length === 0 ? [] : [`take one of: ${names.join(", ")}`]),
  ].join(", or ");
  return advice === ""
    ? "No agent may be started here: do it yourself."
    : `${advice.slice(0, 1).toUpperCase()}${advice.slice(1)}.`;
}

interface AdviceInput {
  readonly agents: readonly HostAgent[];
  /** Those that sub-agents run as. */
  readonly offered: readonly HostAgent[];
  readonly caller: string;
}

interface ReceiverInput {
  readonly context: PluginContext;
  readonly request: AskedFor;
  readonly parentTurn: TurnSettings;
}

/** Who asks for a fork, and as which agent it is to run. */
interface AskedFor {
  readonly sessionId: string;
  readonly caller: string;
  readonly agent?: string;
  readonly model?: ModelFacts;
}
