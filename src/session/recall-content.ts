import { callWithin } from "../compaction/ports/call-within.ts";
import { pinByHandle } from "../compaction/summary/pins.ts";
import type { OutputStore } from "../tool-output/output-store.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import {
  hiddenTexts,
  type Recalled,
  type RecallRange,
  type RecallRequest,
  type RecallSource,
  recall,
  refuseRange,
} from "./recall.ts";
import type { Runtime } from "./runtime.ts";
import { createRecallSearch } from "./search.ts";

/** Answers recalls out of the transcript and the output store. Never throws. */
export function createContentRecall(runtime: Runtime): RecallContent {
  const { options } = runtime;
  const { recallMaxChars: maxChars, recallRedaction = options.redaction } = options;
  const redact = recallRedaction === "off" ? undefined : recallRedaction;
  const searchHidden = createRecallSearch(redact);
  const source: RecallSource = {
    messages: () => ({
      find: (id) => runtime.find(id) ?? pinMessage(runtime.state().history.transcript, id),
      list: () => runtime.state().history.messages,
    }),
    saved: (handle) => readOutput(runtime, handle),
    hidden: () => {
      const { state, window } = runtime.view();
      const { marked } = window;
      return hiddenTexts(state.history.messages, new Map(marked.map((message) => [message.id, message])));
    },
  };
  return async (request, range) => {
    const refused = range === undefined || range === null ? undefined : refuseRange(range);
    return refused ?? recall(source, request, { maxChars, range, redact, searchHidden });
  };
}

type RecallContent = (request: RecallRequest, range?: RecallRange) => Promise<Recalled>;

/** A pinned text that came from no message, as the newest summary carries it. */
function pinMessage(transcript: Transcript, id: MessageId): Message | undefined {
  const summary = transcript.findLast(({ metadata }) => metadata?.carried !== undefined);
  const text = pinByHandle(id, summary?.metadata?.carried?.pins ?? []);
  return text === undefined ? undefined : { id, role: "user", parts: [{ type: "text", text }] };
}

async function readOutput({ ports }: Runtime, handle: Handle): ReturnType<OutputStore["get"]> {
  const { outputs, clock } = ports;
  const result = await callWithin({ start: () => outputs?.get(handle), limitMs: OUTPUT_LIMIT_MS, clock });
  if (result.status === "done") return result.value;
  return { status: "failed", code: result.status, reason: result.status };
}

const OUTPUT_LIMIT_MS = 10_000;
