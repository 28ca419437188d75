import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import { BINDING_BETA, bindsThinking, createThinkingCheck, isThought } from "./bound-thinking.ts";

/**
 * A scripted Claude on loopback that checks what each thought is bound to, as the vendor documents it. Every answer begins
 * with a thought. A request that is refused takes no step of the script.
 */
export async function startClaudeServer(): Promise<ClaudeServer> {
  const check = createThinkingCheck();
  const steps: ClaudeStep[] = [];
  const requests: ClaudeRequest[] = [];
  /** The thought of each answer by its text, of which there are no two. */
  const thoughts = new Map<unknown, UnknownObject>();
  let answers = 0;

  /** How many thoughts the model would read if none had been left out. */
  function countKeepable(body: UnknownObject, isPreserved: boolean): number {
    const messages = asArray(body.messages).map((message) => {
      const { role, content } = asObject(message);
      const blocks = asArray(content).map(asObject);
      if (role !== "assistant" || blocks.some(isThought)) return message;
      return { role, content: [...blocks.flatMap(({ text }) => thoughts.get(text) ?? []), ...blocks] };
    });
    const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
    const read = check.read({ ...body, messages, thinking }, { beta: BINDING_BETA, isPreserved });
    return read.status === 200 ? countThoughts(read.body) : 0;
  }

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = asObject(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      reply(body, String(incoming.headers["anthropic-beta"] ?? ""), response);
    });
  });

  function reply(body: UnknownObject, beta: string, response: ServerResponse): void {
    const sent = countThoughts(body);
    const isPreserved = bindsThinking(String(body.model));
    const keepable = countKeepable(body, isPreserved);
    const read = check.read(body, { beta, isPreserved });
    if (read.status !== 200) {
      requests.push({ body, sent, keepable, dropped: 0, refusal: read.error.error.message });
      response.writeHead(read.status, { "content-type": "application/json" });
      response.end(JSON.stringify(read.error));
      return;
    }
    const { dropped } = read;
    requests.push({ body, sent, keepable, dropped: dropped.length });
    // A request for a summary has no tools.
    const step = asArray(body.tools).length === 0 ? { text: SUMMARY } : (steps.shift() ?? { text: "Done." });
    const thought = { type: "thinking", thinking: `Considering step ${++answers}.`, signature: "" };
    const calls = (step.commands ?? []).map((command, index) => ({
      ...{ type: "tool_use", id: `toolu_${answers}_${index}`, name: step.tool ?? "bash" },
      input: typeof command === "string" ? { command } : command,
    }));
    const text = `${step.text ?? "Looking."} (${answers})`;
    const content = check.sign(read, [thought, { type: "text", text }, ...calls]);
    thoughts.set(text, asObject(content[0]));
    const usage = {
      input_tokens: Math.ceil(JSON.stringify(body).length / CHARS_PER_TOKEN),
      output_tokens: 50,
    };
    const message = {
      ...{ id: `msg_${answers}`, type: "message", role: "assistant", model: body.model, content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage },
    };
    const stopReason = calls.length > 0 ? "tool_use" : "end_turn";
    const events = [
      { type: "message_start", message },
      ...content.flatMap((block, index) => blockEvents(asObject(block), index)),
      { type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  }

  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script: (more) => void steps.push(...more),
    discardSteps: () => void steps.splice(0),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface ClaudeServer {
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly requests: readonly ClaudeRequest[];
  script(steps: readonly ClaudeStep[]): void;
  discardSteps(): void;
  stop(): Promise<void>;
}

/** An answer behind its thought. */
export interface ClaudeStep {
  readonly text?: string;
  /** Calls of the tool; a text is a command of a shell. */
  readonly commands?: readonly (string | UnknownObject)[];
  /** Unset: bash. */
  readonly tool?: string;
}

export interface ClaudeRequest {
  readonly body: UnknownObject;
  /** Thoughts in it, and how many the model would read if none had been left out. */
  readonly sent: number;
  readonly keepable: number;
  /** Thoughts in it that the model did not read. */
  readonly dropped: number;
  /** What was said where it was refused. */
  readonly refusal?: string;
}

const SUMMARY = "## Goal\nRead the files.\n## Done\nMany were read.\n## Next\nGo on.";
const CHARS_PER_TOKEN = 4;

function blockEvents(block: UnknownObject, index: number): readonly UnknownObject[] {
  const { type, thinking, signature, text, id, name, input } = block;
  const delta = (fields: UnknownObject) => ({ type: "content_block_delta", index, delta: fields });
  const start = (fields: UnknownObject) => ({ type: "content_block_start", index, content_block: fields });
  const stop = { type: "content_block_stop", index };
  if (type === "thinking")
    return [
      start({ type, thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking }),
      delta({ type: "signature_delta", signature }),
      stop,
    ];
  if (type === "text") return [start({ type, text: "" }), delta({ type: "text_delta", text }), stop];
  return [
    start({ type, id, name, input: {} }),
    delta({ type: "input_json_delta", partial_json: JSON.stringify(input) }),
    stop,
  ];
}

function countThoughts(body: UnknownObject): number {
  return asArray(body.messages)
    .flatMap((message) => asArray(asObject(message).content))
    .filter((block) => isThought(asObject(block))).length;
}
