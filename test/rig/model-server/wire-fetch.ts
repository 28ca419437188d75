import { findRoute, type ModelServer, type ModelServerOptions } from "./model-server.ts";
import { UNSCRIPTED_ANSWERS } from "./step.ts";
import { createThinkingRules, withThought } from "./thinking/thinking-rules.ts";
import { type AnswerContext, eventText } from "./wire.ts";

/** A `fetch` that answers as the model server does, without HTTP: nothing leaves the process. Knows answers and refusals. */
export function createWireFetch(options: ModelServerOptions): WireFetch {
  const { judge, onAnswer } = options;
  const thinking = createThinkingRules(options.thinking);
  let number = 0;
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const rawBody = String(init?.body);
    const body = JSON.parse(rawBody) as Record<string, unknown>;
    const found = findRoute(new URL(String(url)).pathname, body);
    if (found === undefined)
      return Response.json({ error: { message: `no route ${String(url)}` } }, { status: 404 });
    const { wire, model, streamed } = found;
    const beta = new Headers(init?.headers).get("anthropic-beta") ?? undefined;
    const thoughts = thinking.receive({ wire: wire.name, model, body, beta });
    const reply =
      thoughts.type === "refusal"
        ? thoughts
        : withThought(
            judge?.({ wire: wire.name, model, body, rawBody }) ?? UNSCRIPTED_ANSWERS.main,
            thoughts,
          );
    if (reply.type === "refusal") return Response.json(reply.body, { status: reply.status });
    if (reply.type !== "answer") throw new Error(`a fetch without HTTP knows no ${reply.type}`);
    const asked = { number: ++number, model, atMs: 0, requestChars: rawBody.length };
    const context: AnswerContext = { ...asked, ...(thoughts.type === "taken" && thoughts) };
    const whole = wire.body(reply, context);
    onAnswer?.({ wire: wire.name, body: whole });
    if (!streamed) return Response.json(whole);
    const headers = { "content-type": "text/event-stream" };
    return new Response(wire.events(reply, context).map(eventText).join(""), { headers });
  };
  return Object.assign(fetch, { thinking });
}

/** What became of the thoughts in its requests is kept beside it. */
export type WireFetch = typeof globalThis.fetch & Pick<ModelServer, "thinking">;
