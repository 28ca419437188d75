import type { ModelRef } from "../../transcript/message.ts";
import {
  type CallBlock,
  dataUrl,
  type ImageBlock,
  type ResultBlock,
  type SessionHead,
  type TextBlock,
  type Turn,
} from "./session-files.ts";

/** A session as `opencode import` of version 1 takes it: a call and its result are one part. */
export function writeOpenCode(turns: readonly Turn[], head: SessionHead): object {
  const { id, cwd, at, title } = head;
  const sessionID = openCodeId("ses", id);
  const results = resultsOf(turns);
  const newId = createIds(id);
  let userId: string | undefined;
  const messages = turns.flatMap(({ role, blocks }) => {
    const kept = blocks.filter((block) => block.type !== "result");
    if (kept.length === 0) return [];
    const messageID = newId("msg");
    const placed = (part: object): object => ({ ...part, id: newId("prt"), messageID, sessionID });
    const parts = kept.map((block) => partOf(block, { results, at, placed }));
    const info = {
      id: messageID,
      sessionID,
      role,
      ...(role === "user" ? userInfo(head) : answerInfo(head, userId)),
    };
    if (role === "user") userId = messageID;
    return [{ info, parts: parts.map(placed) }];
  });
  const time = { created: at, updated: at };
  return {
    info: { id: sessionID, slug: sessionID, projectID: "global", directory: cwd, title, version: "1", time },
    messages,
  };
}

/** Ids begin with the kind and have 26 letters and digits; made from a UUID they are its own. */
export function openCodeId(kind: string, from: string): string {
  return `${kind}_${from
    .replace(/[^0-9a-z]/gi, "")
    .slice(-26)
    .padStart(26, "0")}`;
}

/** Ids that grow, as OpenCode's own do: it orders by them. */
function createIds(from: string): (kind: string) => string {
  let count = 0;
  return (kind) => openCodeId(kind, `${from}${String(++count).padStart(6, "0")}`);
}

/** The results of all turns by the id of their call. */
function resultsOf(turns: readonly Turn[]): ReadonlyMap<string, ResultBlock> {
  const results = turns.flatMap(({ blocks }) => blocks.filter((block) => block.type === "result"));
  return new Map(results.map((each) => [each.id, each]));
}

function userInfo({ at, model }: SessionHead): object {
  return { time: { created: at }, agent: "build", model: modelOf(model) };
}

function answerInfo({ cwd, at, model }: SessionHead, parentID: string | undefined): object {
  return {
    ...(parentID !== undefined && { parentID }),
    time: { created: at, completed: at },
    ...modelOf(model),
    mode: "build",
    agent: "build",
    path: { cwd, root: cwd },
    cost: 0,
    tokens: NO_TOKENS,
    finish: "stop",
  };
}

function modelOf({ provider = "carryover", id = "carryover" }: Partial<ModelRef> = {}): object {
  return { providerID: provider, modelID: id };
}

interface PartContext {
  readonly results: ReadonlyMap<string, ResultBlock>;
  readonly at: number;
  /** The part with ids of its own. */
  readonly placed: (part: object) => object;
}

function partOf(block: TextBlock | ImageBlock | CallBlock, { results, at, placed }: PartContext): object {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "image") return fileOf(block);
  const result = results.get(block.id);
  const time = { start: at, end: at };
  const input = Object(block.input) as object;
  if (result?.isError === true)
    return {
      type: "tool",
      callID: block.id,
      tool: block.tool,
      state: { status: "error", input, error: result.text, time },
    };
  const attachments = (result?.images ?? []).map((image) => placed(fileOf(image)));
  const state = {
    status: "completed",
    input,
    output: result?.text ?? "",
    title: block.tool,
    metadata: {},
    time,
    ...(attachments.length > 0 && { attachments }),
  };
  return { type: "tool", callID: block.id, tool: block.tool, state };
}

function fileOf(image: ImageBlock): object {
  return { type: "file", mime: image.mime, filename: image.mime.replace("/", "."), url: dataUrl(image) };
}

/** A session as `opencode import` of version 2 takes it: flat messages, a call and its result in one entry. */
export function writeOpenCode2(turns: readonly Turn[], { id, cwd, at, title }: SessionHead): object {
  const results = resultsOf(turns);
  const newId = createIds(id);
  const messages = turns.flatMap(({ role, blocks }): readonly object[] => {
    const kept = blocks.filter((block) => block.type !== "result");
    if (kept.length === 0) return [];
    const base = { id: newId("msg"), time: { created: at } };
    if (role === "user") {
      const texts = kept.flatMap((block) => (block.type === "text" ? [block.text] : []));
      const files = kept.flatMap((block) => (block.type === "image" ? [inlineFile(block)] : []));
      const text = texts.join("\n\n");
      return [{ ...base, type: "user", text, ...(files.length > 0 && { files }) }];
    }
    const content = kept.map((block) =>
      block.type === "call" ? callEntry(block, results.get(block.id), at) : block,
    );
    const time = { created: at, completed: at };
    const finish = kept.some(({ type }) => type === "call") ? "tool-calls" : "stop";
    return [
      {
        ...base,
        time,
        type: "assistant",
        agent: "build",
        model: MODEL,
        content,
        finish,
        cost: 0,
        tokens: NO_TOKENS,
      },
    ];
  });
  const time = { created: at, updated: at };
  const info = { id: openCodeId("ses", id), projectID: "global", cost: 0, tokens: NO_TOKENS, time, title };
  return { info: { ...info, location: { directory: cwd } }, messages };
}

const MODEL = { id: "carryover", providerID: "carryover" };
const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

function callEntry({ id, tool, input }: CallBlock, result: ResultBlock | undefined, at: number): object {
  const given = Object(input) as object;
  const text = result?.text ?? "";
  const images = (result?.images ?? []).map((image) => ({
    type: "file",
    mime: image.mime,
    uri: dataUrl(image),
  }));
  const state =
    result?.isError === true
      ? { status: "error", input: given, error: { type: "unknown", message: text } }
      : { status: "completed", input: given, content: [{ type: "text", text }, ...images] };
  return { type: "tool", id, name: tool, state, time: { created: at, ran: at, completed: at } };
}

function inlineFile({ mime, base64 }: ImageBlock): object {
  return { data: base64, mime, source: { type: "inline" } };
}
