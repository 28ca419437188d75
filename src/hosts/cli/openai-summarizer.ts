import type { Summarizer } from "../../compaction/summarizer.ts";
import { fields, stringField } from "../../formats/fields.ts";

export interface OpenAiModel {
  readonly model: string;
  /** Where the API is, with or without `/chat/completions`. */
  readonly url: URL;
  /** Sent as a bearer token; nothing is sent when unset. */
  readonly key?: string;
}

/** A summarizer that asks any server with OpenAI's chat completions, without tools; streamed, so that a stalled answer is noticed. */
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
      if (!response.ok) throw refusal(response.status, await response.text());
      const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
      if (!isStream || response.body === null) return answerText(await response.json(), "message");
      const texts: string[] = [];
      for await (const event of eventsOf(response.body)) {
        onProgress();
        texts.push(answerText(event, "delta"));
      }
      return texts.join("");
    },
  };
}

function completionsUrl(url: URL): URL {
  const whole = new URL(url);
  if (!whole.pathname.endsWith("/chat/completions"))
    whole.pathname = `${whole.pathname.replace(/\/+$/, "")}/chat/completions`;
  return whole;
}

/** The status and the body stay readable for whoever tells an overflow from other refusals. */
function refusal(status: number, body: string): Error {
  return Object.assign(new Error(`The model's server answered ${status}: ${body.slice(0, MAX_BODY_CHARS)}`), {
    status,
  });
}

const MAX_BODY_CHARS = 4_000;

function answerText(value: unknown, place: "message" | "delta"): string {
  const { error, choices } = fields(value);
  if (error !== undefined && error !== null) throw error;
  const [choice] = Array.isArray(choices) ? choices : [];
  return stringField(fields(fields(choice)[place]).content) ?? "";
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = line.startsWith("data:") ? line.slice("data:".length).trim() : "";
      if (data !== "" && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}
