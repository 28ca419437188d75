import { findRoute, type ModelServerOptions } from "./model-server.ts";
import { UNSCRIPTED_ANSWERS } from "./step.ts";
import { type AnswerContext, eventText } from "./wire.ts";

/** A `fetch` that answers as the model server does, without HTTP: nothing leaves the process. Knows answers and refusals. */
export function createWireFetch({ judge, onAnswer }: ModelServerOptions): typeof globalThis.fetch {
  let number = 0;
  return async (url, init) => {
    const rawBody = String(init?.body);
    const body = JSON.parse(rawBody) as Record<string, unknown>;
    const found = findRoute(new URL(String(url)).pathname, body);
    if (found === undefined)
      return Response.json({ error: { message: `no route ${String(url)}` } }, { status: 404 });
    const { wire, model, streamed } = found;
    const reply = judge?.({ wire: wire.name, model, body, rawBody }) ?? UNSCRIPTED_ANSWERS.main;
    if (reply.type === "refusal") return Response.json(reply.body, { status: reply.status });
    if (reply.type !== "answer") throw new Error(`a fetch without HTTP knows no ${reply.type}`);
    const context: AnswerContext = { number: ++number, model, atMs: 0, requestChars: rawBody.length };
    const whole = wire.body(reply, context);
    onAnswer?.({ wire: wire.name, body: whole });
    if (!streamed) return Response.json(whole);
    const headers = { "content-type": "text/event-stream" };
    return new Response(wire.events(reply, context).map(eventText).join(""), { headers });
  };
}
