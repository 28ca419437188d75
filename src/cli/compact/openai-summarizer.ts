import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { asObject, asString } from "../../text/unknown-value.ts";

/** A summarizer for any server with OpenAI's chat completions API; streams, so that a stalled answer is noticed. */
export function createOpenAiSummarizer({ model, url, key }: OpenAiModel): Summarizer {
  return {
    async summarize({ system, prompt, maxOutputTokens }, { signal, onProgress }) {
      const response = await fetch(completionsUrl(url), {
        method: "POST",
        signal,
        headers: {
          "content-type": "application/json",
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
        body: JSON.stringify({
          model,
          stream: true,
          max_tokens: maxOutputTokens,
          messages: [
            { role: "system", content: system },
            { role: "user", content: prompt },
          ],
        }),
      });
      if (!response.ok) throw httpError(response.status, await response.text());
      const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
      if (!isStream || response.body === null) return responseText(await response.json(), "message");
      const events = response.body
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream());
      const texts: string[] = [];
      for await (const { data } of events) {
        onProgress();
        if (data !== "" && data !== "[DONE]") texts.push(responseText(JSON.parse(data), "delta"));
      }
      return texts.join("");
    },
  };
}

interface OpenAiModel {
  readonly model: string;
  /** Where the API is, with or without `/chat/completions`. */
  readonly url: URL;
  /** Sent as a bearer token; nothing is sent when unset. */
  readonly key?: string;
}

function completionsUrl(url: URL): URL {
  const whole = new URL(url);
  if (!whole.pathname.endsWith("/chat/completions"))
    whole.pathname = `${whole.pathname.replace(/\/+$/, "")}/chat/completions`;
  return whole;
}

/** Carries the status and the body, by which an overflow is told from other refusals. */
function httpError(status: number, body: string): Error {
  return Object.assign(new Error(`The model's server answered ${status}: ${body.slice(0, MAX_BODY_CHARS)}`), {
    status,
  });
}

const MAX_BODY_CHARS = 4_000;

function responseText(value: unknown, place: "message" | "delta"): string {
  const { error, choices } = asObject(value);
  if (error !== undefined && error !== null) throw error;
  const [choice] = Array.isArray(choices) ? choices : [];
  return asString(asObject(asObject(choice)[place]).content) ?? "";
}
