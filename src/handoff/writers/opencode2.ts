import { createIds, openCodeId, resultsOf } from "./opencode.ts";
import {
  type CallBlock,
  dataUrl,
  type ImageBlock,
  type ResultBlock,
  type SessionHead,
  type Turn,
} from "./session-head.ts";

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
      const files = kept.flatMap((block) => (block.type === "image" ? [fileOf(block)] : []));
      const text = texts.join("\n\n");
      return [{ ...base, type: "user", text, ...(files.length > 0 && { files }) }];
    }
    const content = kept.map((block) =>
      block.type === "call" ? toolOf(block, results.get(block.id), at) : block,
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

function toolOf({ id, tool, input }: CallBlock, result: ResultBlock | undefined, at: number): object {
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

function fileOf({ mime, base64 }: ImageBlock): object {
  return { data: base64, mime, source: { type: "inline" } };
}
