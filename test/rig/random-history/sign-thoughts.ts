import {
  bindThoughts,
  hideStaleThoughts,
  NO_BINDINGS,
  readThoughts,
  sendThoughts,
} from "../../../src/session/thoughts.ts";
import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import { applyEdits, type Edit, type Stage } from "../../../src/transcript/edit.ts";
import type { Format } from "../../../src/transcript/format.ts";
import { isVisibleToModel, type Transcript } from "../../../src/transcript/message.ts";
import { createThinkingCheck } from "../bound-thinking/bound-thinking.ts";

/** A conversation with Claude whose thoughts are bound to what stood before them in the requests that a session sent. */
export interface SignedRequest {
  readonly wire: UnknownObject;
  /** The edits that leave out the thoughts which were made behind something else. */
  hideStale(sent: Transcript): readonly Edit[];
  /** What the provider says against the thoughts of a request; undefined where it takes them. */
  findRefusal(request: unknown): string | undefined;
}

/** Signs the thoughts of a request: each answer was given to what stands before it, repaired as in every request. */
export function signThoughts(
  request: UnknownObject,
  { format, repair }: { readonly format: Format<unknown>; readonly repair: Stage },
): SignedRequest {
  const check = createThinkingCheck();
  let bindings = NO_BINDINGS;
  let wire = { ...request, messages: [] as readonly unknown[] };

  const hideStale = (sent: Transcript): readonly Edit[] => {
    const visible = sent.filter(isVisibleToModel);
    return hideStaleThoughts(visible, readThoughts(visible, bindings).stale);
  };
  function readWindow() {
    const source = format.decode(wire);
    const repairs = repair(source);
    const sent = applyEdits(source, repairs, AT);
    const reading = readThoughts(sent.filter(isVisibleToModel), bindings);
    return { source, reading, edits: [...repairs, ...hideStale(sent)] };
  }

  for (const message of asArray(request.messages).map(asObject)) {
    if (message.role !== "assistant") {
      wire = { ...wire, messages: [...wire.messages, message] };
      continue;
    }
    const isFirst = wire.messages.length === 0;
    if (isFirst) wire = { ...wire, messages: [message] };
    const window = readWindow();
    const sent = asObject(format.apply(wire, window.edits, AT));
    if (isFirst) wire = { ...wire, messages: [] };
    else bindings = sendThoughts(bindings, window);
    const seen = check.read(isFirst ? withoutAnswer(sent) : sent);
    if (seen.status === 400) throw new Error(seen.error.error.message);
    const content = check.sign(seen, asArray(message.content).map(asObject));
    wire = { ...wire, messages: [...wire.messages, { ...message, content }] };
    bindings = bindThoughts(bindings, readWindow());
  }
  return {
    wire,
    hideStale,
    findRefusal(given) {
      const read = check.read(asObject(given));
      return read.status === 400 ? read.error.error.message : undefined;
    },
  };
}

/** What a repair puts before a conversation that begins with an answer. */
function withoutAnswer(request: UnknownObject): UnknownObject {
  const messages = asArray(request.messages);
  return {
    ...request,
    messages: messages.slice(
      0,
      messages.findIndex((each) => asObject(each).role === "assistant"),
    ),
  };
}

const AT = { at: 1_700_000_000_000 };
