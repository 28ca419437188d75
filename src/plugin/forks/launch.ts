import { randomBytes } from "node:crypto";
import type { InheritFacts } from "../../fork/context/choose-inherit-mode.ts";
import { admitFork } from "../../fork/life/admit.ts";
import { createForkRecord } from "../../fork/life/create-fork-record.ts";
import { type AskingCall, currentRun, type ForkRecord, isLive } from "../../fork/life/record.ts";
import type { PluginContext } from "../context/context.ts";
import type { HostMessage, RunningTool } from "../host/agent-host.ts";
import type { ModelFacts } from "../host/host-parts.ts";
import type { StoredRequest } from "../stores/requests.ts";
import type { ModelWindows } from "../window/model-windows.ts";
import type { Forks } from "./forks.ts";
import { type Inherited, inherit } from "./inherit.ts";
import { type NotLaunched, type Receiver, receiverOf } from "./receiver.ts";
import { taskText } from "./task-text.ts";

/** Takes the parent's last request as it is now, and puts a fork with it into the queue. */
export async function launchFork({ context, forks, request }: LaunchInput): Promise<Launched | NotLaunched> {
  const { sessionId } = request;
  const rootSessionId = await context.tree.rootOf(sessionId);
  const isInsideFork = (await forks.forkLinkOf(sessionId)) !== undefined;
  const admission = () => admitFork(forks.view(), { type: "new", rootSessionId, isInsideFork });
  const first = admission();
  if (first.status === "refused") return { status: "refused", reason: first.text };
  const captured = forks.capture.lastSent(sessionId);
  const lastRequest = captured && { ...snapshotOf(captured), ageMs: context.now() - captured.atMs };
  const { format, sessions } = context.host;
  const stored = async (): Promise<readonly HostMessage[]> => {
    const answer = await sessions.read(sessionId);
    if (answer.status === "failed")
      throw new Error(`the parent's messages could not be read: ${answer.reason}`);
    return answer.value.messages;
  };
  const parentTurn = format.turnOf(lastRequest?.messages ?? (await stored().catch(() => [])));
  const receiver = await receiverOf({ context, request, parentTurn });
  if (receiver.status === "refused") return receiver;
  const permission = await request.mayStart(receiver.agent, request.title);
  if (permission.status === "refused") {
    return {
      status: "refused",
      reason: `Not started: a fork as agent "${receiver.agent}" is not allowed here. ${permission.reason}`,
    };
  }

  const inherited = await inherit({
    format,
    ...(lastRequest === undefined ? {} : { lastRequest }),
    stored,
    parentSessionId: sessionId,
    task: request.prompt,
    profile: context.options.fork.profile,
    setting: context.options.fork.inherit,
    redaction: context.redaction,
    model: { provider: receiver.model.providerId, id: receiver.model.modelId },
    // Its own agent may lack it too, but a child that is told of a tool can see whether it has it.
    hasRecall: await context.host.sessions.hasTool(sessionId, "recall"),
    ...(context.options.fork.budgetChars === undefined
      ? {}
      : { budgetChars: context.options.fork.budgetChars }),
    facts: {
      receiver: prefixOf(receiver.differs, context.host.can),
      ...cachePrices(forks.windows, request.model),
      ...windowOf(forks.windows, request.model),
      finishedSteps: finishedSteps(forks.keeper.all()),
    },
  });
  if (inherited.mode === "none" && context.options.fork.onForkError === "fail") {
    return {
      status: "refused",
      reason: `Not started: ${inherited.reason}. Do the work yourself, or try again.`,
    };
  }
  if (
    lastRequest === undefined &&
    context.options.fork.profile !== "documented" &&
    context.options.fork.inherit !== "text"
  ) {
    context.notify.toastOnce(
      "This host does not let forks share the conversation; they get it as text.",
      "warning",
    );
  }
  const kept = await storeInherited({ context, forks, inherited });
  if (kept.status === "failed")
    return { status: "refused", reason: `Not started: the context could not be kept (${kept.reason}).` };

  const number = await forks.numbers.take(rootSessionId);
  // Others may have been admitted while this one was prepared; from here to `add` nothing is awaited.
  const last = admission();
  if (last.status === "refused") return { status: "refused", reason: last.text };
  const record = createForkRecord({
    id: `fk_${randomBytes(9).toString("base64url")}`,
    number,
    project: context.host.directory,
    rootSessionId,
    parentSessionId: sessionId,
    agent: receiver.agent,
    caller: request.caller,
    model: receiver.model,
    title: request.title,
    inherited: {
      mode: inherited.mode === "none" ? "text" : inherited.mode,
      reason: inherited.reason,
      chars: inherited.mode === "none" ? 0 : inherited.chars,
      messages: inherited.mode === "none" ? 0 : inherited.messageCount,
      ...(kept.blob === undefined ? {} : { snapshotId: kept.blob }),
    },
    owner: forks.owner(),
    task: taskText({
      number,
      task: request.prompt,
      inherited,
      profile: context.options.fork.profile,
    }),
    atMs: context.now(),
    ...(request.askedBy && { askedBy: request.askedBy }),
  });
  if ((await forks.keeper.add({ record })) === "not-kept") {
    return {
      status: "refused",
      reason: "Not started: its record could not be stored. Do the work yourself.",
    };
  }
  forks.fillSlots();
  return { status: "launched", record, inherited, place: last.place === "queue" ? "queue" : "slot" };
}

interface LaunchInput {
  readonly context: PluginContext;
  readonly forks: Forks;
  readonly request: ForkRequest;
}

export interface ForkRequest {
  readonly sessionId: string;
  /** The agent that asks. */
  readonly caller: string;
  readonly prompt: string;
  readonly title: string;
  readonly agent?: string;
  readonly mayStart: RunningTool["mayStart"];
  /** The model of the step that asks, as the agent describes it. */
  readonly model?: ModelFacts;
  readonly askedBy?: AskingCall;
}

export interface Launched {
  readonly status: "launched";
  readonly record: ForkRecord;
  readonly inherited: Inherited;
  /** Whether it starts at once. */
  readonly place: "slot" | "queue";
}

/** A child whose requests cannot get messages in front has another system prompt, like another agent. */
function prefixOf(
  differs: Extract<Receiver, { status: "found" }>["differs"],
  { graftRequests }: PluginContext["host"]["can"],
): typeof differs {
  return differs === "same" && !graftRequests ? "other-agent" : differs;
}

/** A copy that nothing can change any more. */
function snapshotOf({ messages, promptHead }: StoredRequest): StoredRequest {
  return JSON.parse(JSON.stringify({ messages, promptHead })) as StoredRequest;
}

type StoredInherited =
  | { readonly status: "kept"; readonly blob?: string }
  | { readonly status: "failed"; readonly reason: string };

async function storeInherited({ context, forks, inherited }: StoreInput): Promise<StoredInherited> {
  if (inherited.mode === "none") return { status: "kept" };
  const lastRequest =
    inherited.mode === "text"
      ? { messages: [context.host.format.textMessage(`${inherited.preamble}\n\n${inherited.text}`)] }
      : inherited;
  const stored = await forks.requests.put(lastRequest);
  return stored.status === "failed" ? stored : { status: "kept", blob: stored.blob };
}

interface StoreInput extends Omit<LaunchInput, "request"> {
  readonly inherited: Inherited;
}

function cachePrices(
  windows: ModelWindows,
  model: ModelFacts | undefined,
): Pick<InheritFacts, "cacheReadPrice" | "cacheWritePrice"> {
  const { readMultiplier, writeMultiplier } = windows.cacheOf(model);
  return { cacheReadPrice: readMultiplier, cacheWritePrice: writeMultiplier };
}

function windowOf(windows: ModelWindows, model: ModelFacts | undefined): { windowTokens?: number } {
  const known = windows.windowOf(`${model?.provider}/${model?.id}`)?.limits;
  const tokens = model?.inputTokens || model?.contextTokens || known?.inputTokens || known?.contextTokens;
  return tokens === undefined || tokens <= 0 ? {} : { windowTokens: tokens };
}

function finishedSteps(records: readonly ForkRecord[]): readonly number[] {
  return records
    .filter((record) => !isLive(currentRun(record)) && record.spent.steps > 0)
    .map((record) => record.spent.steps / record.runs.length);
}
