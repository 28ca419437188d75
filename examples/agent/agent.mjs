// One conversation with a model. What is said is on disk before the next thing happens: it may be killed at any time.
import { join } from "node:path";
import { asSchema, streamText } from "ai";
import { createSession, createSystemClock, estimateMessageTokens, forkContext, modelFacts } from "carryover";
import { aiSdk, answerFacts, createModelSummarizer, createRecallTool } from "carryover/ai-sdk";
import { createFileJournal, createFileOutputStore } from "carryover/node";

const SYSTEM = "You are a coding agent in a terminal. What has left your window you can recall.";

/** Opens the conversation of a folder, or begins one there. `emit` is given everything that happens. */
export async function openAgent(options) {
  const { folder, model, compactionModel, emit } = options;
  const log = createFileJournal({ root: join(folder, "messages"), session: "messages" });
  const { entries, problems } = await log.read();
  const messages = entries.flatMap(({ value }) => value.message ?? []);
  let count = messages.filter(isNoResult).length;
  let settings = Object.assign({}, options.settings, ...entries.map(({ value }) => value.settings));
  const recall = createRecallTool({ recall: (...asked) => session.recall(...asked) });
  const tools = { ...options.tools, recall };
  const definitions = Object.fromEntries(Object.entries(tools).map(withoutExecute));
  const toolsChars = JSON.stringify(Object.values(tools).map(described)).length;
  const ports = {
    clock: createSystemClock(),
    journal: createFileJournal({ root: join(folder, "journal"), session: "journal" }),
    outputs: createFileOutputStore(),
    summarizer: createModelSummarizer(compactionModel),
  };
  let session = await startSession(settings);
  for (const { reason } of problems) emit({ type: "warning", message: `Not all was read: ${reason}` });

  /** A session by these options of `createSession`. Throws when one is wrong. */
  async function startSession(chosen) {
    const { contextTokens: windowTokens, outputTokens } = modelFacts(refOf(compactionModel));
    const started = createSession(ports, {
      ...chosen,
      model: refOf(model),
      summarizer: { model: refOf(compactionModel), windowTokens, outputTokens },
      systemChars: SYSTEM.length,
      toolsChars,
      onEvent: emit,
    });
    await started.restore(aiSdk.decode(messages));
    return started;
  }

  async function write(entry) {
    const { status, reason } = await log.append(entry);
    if (status === "failed") throw new Error(`${folder} cannot be written: ${reason}. Say it again later.`);
  }

  /** Takes in a message, or a result: that becomes a part of the message that called. */
  async function say(message, facts) {
    await write({ message });
    messages.push(message);
    if (isNoResult(message)) count++;
    // Only the newest one and its results are read again; its id has its place, as when all are read at a start.
    const [read] = aiSdk.decode(messages.slice(messages.findLastIndex(isNoResult)));
    session.append({ ...read, id: read.id.replace(/^m1-/, `m${count}-`), ...facts });
  }

  /** Asks the model, and smaller again where the provider refuses; gives the calls that it wants to be run. */
  async function step(abortSignal) {
    for (;;) {
      const action = await session.prepare({ moment: "after-turn", signal: abortSignal });
      abortSignal.throwIfAborted();
      if (action.type === "give-up") throw new Error(action.message, { cause: action.error });
      const result = streamText({
        model,
        system: SYSTEM,
        tools: definitions,
        // What a provider signed in its answers goes back as it was.
        messages: aiSdk.encode(session.messages()),
        abortSignal,
        ...(action.type === "lower-output" && { maxOutputTokens: action.maxOutputTokens }),
        onError() {},
      });
      let [calls, facts, error] = [[], {}];
      for await (const part of result.fullStream) {
        if (part.type === "text-delta") emit({ type: "text", text: part.text });
        if (part.type === "tool-call" && !part.invalid) calls.push(part);
        if (part.type === "finish-step") facts = answerFacts(part);
        if (part.type === "error") error = part.error;
      }
      abortSignal.throwIfAborted();
      if (error !== undefined) {
        const { recovery, message } = session.onProviderError(error, { provider: model.provider });
        if (recovery === "none") throw error;
        emit({ type: "refused", message: `Refused, and now smaller: ${message}` });
        continue;
      }
      const { messages: answered } = await result.response;
      if (answered.length === 0 && session.onEmptyAnswer(facts) === "overflow") continue;
      for (const message of answered) await say(message, facts);
      return calls.map((call) => ({ ...call, facts }));
    }
  }

  async function runCall({ toolCallId, toolName, input, facts }, abortSignal) {
    emit({ type: "call", tool: toolName, input });
    const output = { type: "text", value: "Interrupted by the user." };
    try {
      abortSignal.throwIfAborted();
      output.value = await tools[toolName].execute(input, { toolCallId, abortSignal });
    } catch (error) {
      output.type = "error-text";
      if (!abortSignal.aborted) output.value = error.message;
    }
    await say({ role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] }, facts);
    emit({ type: "result", tool: toolName, chars: output.value.length, failed: output.type !== "text" });
  }

  /** The commands by name: each takes what was typed behind it and gives plain data. */
  const agent = {
    say,
    auto: (text) => agent.set(`compactAt ${{ on: "default", off: "never" }[text] ?? text}`),
    async compact(_, signal) {
      await session.prepare({ demand: "manual", signal });
      return session.ledger().at(-1) ?? { outcome: "nothing" };
    },
    undo: async () => ({ status: (await session.undo()).status, tokens: session.status().tokens }),
    recall: async (text) => ({ text: await recall.execute(inputOf(text)) }),

    /** Asks the model until it calls nothing more. */
    async turn(text, signal) {
      await say({ role: "user", content: text });
      for (let calls = await step(signal); calls.length > 0; calls = await step(signal)) {
        // After an interruption as well, since each call must have its result.
        for (const call of calls) await runCall(call, signal);
      }
      await session.prepare({ moment: "after-turn", signal });
      return { text: textOf(messages.at(-1)) };
    },

    /** What fills the window, in tokens. */
    context() {
      const { tokens, limitTokens } = session.status();
      const estimator = settings.profile === "documented" ? "documented" : "calibrated";
      const filledBy = { "system prompt and tools": Math.ceil((SYSTEM.length + toolsChars) / 4) };
      for (const { parts, ...message } of session.messages())
        for (const part of parts) {
          const kind = part.tool ?? (message.summary ? "summary" : message.role);
          const estimate = estimateMessageTokens({ ...message, parts: [part] }, { estimator });
          filledBy[kind] = (filledBy[kind] ?? 0) + estimate;
        }
      filledBy["not in these estimates"] = tokens - Object.values(filledBy).reduce((sum, each) => sum + each);
      return { tokens, limitTokens, filledBy };
    },

    /** For this and every later run, unless the session refuses it. Without a value it shows what is set. */
    async set(text) {
      const [name, value] = text.split(/\s+/);
      const all = () => ({ profile: "default", ...settings });
      if (!value) return name ? { [name]: all()[name] ?? "It is not set." } : all();
      const { [name]: _, ...others } = settings;
      const given = /^[\d{[]/.test(value) ? JSON.parse(value) : value;
      const changed = value === "default" ? others : { ...others, [name]: given };
      session = await startSession(changed);
      await write({ settings: changed });
      settings = changed;
      return all();
    },

    /** A child that knows this conversation does a task; its report is the answer to what was asked here. */
    async fork(task, signal) {
      if (task === "") throw new Error("Give a task for the child.");
      // About a third of the window, since a child needs room for its own work.
      const budgetChars = Math.floor(Math.min(200_000, session.status().limitTokens * 1.5));
      const { profile = "default" } = settings;
      const { preamble, messages: inherited } = forkContext(session.transcript(), { budgetChars, profile });
      const asked = { id: "task", role: "user", parts: [{ type: "text", text: task }] };
      const child = await openAgent({ ...options, settings, folder: `${folder}-fork-${Date.now()}` });
      for (const message of aiSdk.encode([...inherited, asked]).slice(0, -1)) await child.say(message);
      const report = await child.turn(`${preamble}\n\n${task}`, signal);
      await say({ role: "user", content: `/fork ${task}` });
      await say({ role: "assistant", content: [{ type: "text", text: report.text }] }, { finish: "stop" });
      return report;
    },
  };
  return agent;
}

const textOf = ({ content }) => Array.from([content].flat(), ({ text = "" }) => text).join("");
const inputOf = (text) => ({ [/^m\d+-\w+(\/\d+)?$|^[0-9a-f]{64}$/.test(text) ? "handle" : "search"]: text });
const isNoResult = ({ role }) => role !== "tool";
const refOf = ({ provider, modelId }) => ({ provider, id: modelId });
const withoutExecute = ([name, { execute: _, ...definition }]) => [name, definition];
const described = ({ description, inputSchema }) => [description, asSchema(inputSchema).jsonSchema];
