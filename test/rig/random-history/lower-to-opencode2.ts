import {
  createResultLookup,
  type History,
  type HistoryCall,
  type HistoryResult,
  type ModelStep,
  turnsOf,
} from "./history.ts";

type Stored = Readonly<Record<string, unknown>>;

/** The stored messages of OpenCode 2 for a history; a rewind deletes what came since, as its revert does. */
export function lowerToOpencode2(history: History): { readonly info: Stored; readonly messages: Stored[] } {
  const messages: Stored[] = [];
  const resultOf = createResultLookup(history);
  let time = 0;
  const push = (message: Stored): void => {
    time += 1_000;
    messages.push({ id: `msg_${String(time).padStart(8, "0")}`, time: { created: time }, ...message });
  };
  for (const [number, turn] of turnsOf(history).entries()) {
    switch (turn.type) {
      case "user": {
        const files = turn.images.map((data) => ({ data, mime: "image/png", source: { type: "inline" } }));
        for (const [index, text] of turn.texts.entries())
          push({ type: "user", text, ...(index === 0 && files.length > 0 && { files }) });
        break;
      }
      case "aside":
        push(ASIDES[number % ASIDES.length] ?? {});
        break;
      case "rewind":
        messages.splice(Math.max(0, messages.length - turn.steps));
        break;
      case "compaction":
        push({
          type: "compaction",
          status: number % 3 === 0 ? "failed" : "completed",
          reason: number % 2 === 0 ? "auto" : "manual",
          summary: turn.summary,
          recent: turn.kept > 0 ? "[User]: the newest request" : "",
        });
        break;
      case "answer":
        push({
          type: "assistant",
          agent: "build",
          model: { id: "m", providerID: "p" },
          content: turn.blocks.map((block) => {
            if (block.type === "text") return { type: "text", text: block.text };
            if (block.type === "thought")
              return { type: "reasoning", text: block.text, state: { signature: "s" } };
            return storedCall(block.call, resultOf(block.call.id));
          }),
          finish: "stop",
          cost: 0.01,
          tokens: { input: 9, output: 2, reasoning: 1, cache: { read: 3, write: 0 } },
        });
        break;
      case "results":
        break;
      default:
        turn satisfies never;
    }
  }
  return { info: { id: "ses_1", location: { directory: "/home/user/project" } }, messages };
}

const ASIDES: readonly Stored[] = [
  { type: "agent-switched", agent: "plan", previous: "build" },
  { type: "synthetic", text: "a fork has ended", description: "fork" },
  { type: "shell", shellID: "sh_1", command: "ls", status: "exited", exit: 0, output: { output: "a b" } },
  { type: "system", text: "the date has changed" },
  { type: "user", text: "look", skills: [{ id: "s", name: "s", text: "how to look" }] },
];

function storedCall({ id, tool, input }: HistoryCall, result: HistoryResult | undefined): Stored {
  const call = { type: "tool", id, name: tool, executed: false, time: { created: 1 } };
  if (result === undefined) return { ...call, state: { status: "running", input, metadata: {} } };
  const { text, isError, image } = result;
  if (isError)
    return { ...call, state: { status: "error", input, error: { type: "unknown", message: text } } };
  const file = { type: "file", uri: `data:image/png;base64,${image}`, mime: "image/png" };
  const content = [{ type: "text", text }, ...(image === undefined ? [] : [file])];
  return { ...call, state: { status: "completed", input, content, metadata: { truncated: false } } };
}

/** The messages that OpenCode 2 shows to a plugin before a request, for a history. */
export function lowerToOpencode2Request(history: History): readonly Stored[] {
  return history.steps.flatMap((step, number): readonly Stored[] => {
    const id = `msg_${String(number).padStart(4, "0")}`;
    switch (step.type) {
      case "user":
        return [
          {
            id,
            role: "user",
            content: [
              ...step.texts.map((text) => ({ type: "text", text })),
              ...step.images.map((data) => ({ type: "media", mediaType: "image/png", data })),
            ],
          },
        ];
      case "model":
        return [{ id, role: "assistant", content: requestBlocks(step) }];
      case "results":
        return step.results.map((result) => ({ role: "tool", content: [requestResult(result)] }));
      default:
        return [];
    }
  });
}

function requestBlocks({ thoughts, text, calls }: ModelStep): readonly Stored[] {
  return [
    ...thoughts.map(({ text: told, signature }) => ({
      type: "reasoning",
      text: told,
      providerMetadata: { p: { signature } },
    })),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, tool, input }) => ({ type: "tool-call", id, name: tool, input })),
  ];
}

function requestResult({ callId, tool, text, isError, image }: HistoryResult): Stored {
  const result = { type: "tool-result", id: callId, name: tool };
  const error = { error: { type: "unknown", message: text }, content: [] };
  if (isError) return { ...result, result: { type: "error", value: error } };
  if (image === undefined) return { ...result, result: { type: "text", value: text } };
  const file = { type: "file", uri: `data:image/png;base64,${image}`, mime: "image/png" };
  return { ...result, result: { type: "content", value: [{ type: "text", text }, file] } };
}
