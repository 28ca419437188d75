import { inTime } from "../../agents/in-time.ts";
import { HOST_CALL_MS, type HostValue } from "../../plugin/host/agent-host.ts";

/** OpenCode's HTTP routes over the transport that it gave to the plugin; nothing of it leaves the process. Never throws. */
export interface HostCalls {
  /** The answer's body, or why there is none. A rejected request and a lost connection are both failures. */
  call(method: HttpMethod, path: string, body?: unknown): Promise<HostAnswer>;
}

type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

export type HostAnswer =
  | { readonly status: "ok"; readonly body: unknown }
  | { readonly status: "failed"; readonly code: number | "no-answer"; readonly reason: string };

/**
 * Makes the calls from the client of the plugin. Its typed methods lack routes that the server has (metadata, permissions),
 * and the address that it names does not listen in `opencode run`: only its own fetch reaches the host there.
 */
export function createHostCalls({ client, directory }: HostCallsOptions): HostCalls | undefined {
  const config = transportOf(client);
  if (config === undefined) return undefined;
  return {
    async call(method, path, body) {
      const ask = async (): Promise<HostAnswer> => {
        const url = new URL(path, config.baseUrl);
        url.searchParams.set("directory", directory);
        const request = new Request(url, {
          method,
          headers: { ...config.headers, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const response = await config.fetch(request);
        const text = await response.text();
        if (!response.ok) return { status: "failed", code: response.status, reason: text.slice(0, 500) };
        return { status: "ok", body: text === "" ? undefined : JSON.parse(text) };
      };
      try {
        // The host's own fetch cannot be aborted, so it is left alone.
        return await inTime(ask(), HOST_CALL_MS);
      } catch (cause) {
        return { status: "failed", code: "no-answer", reason: String(cause).slice(0, 500) };
      }
    },
  };
}

/** A failed answer as the plugin takes it. */
export function failureOf({ code, reason }: Extract<HostAnswer, { readonly status: "failed" }>): HostFailure {
  const kind = code === 404 ? "missing" : code === "no-answer" ? code : "refused";
  return { status: "failed", code: kind, reason };
}

type HostFailure = Extract<HostValue<never>, { readonly status: "failed" }>;

/** The route of one session. */
export function sessionPath(sessionId: string): string {
  return `/session/${encodeURIComponent(sessionId)}`;
}

interface HostCallsOptions {
  readonly client: unknown;
  readonly directory: string;
}

interface Transport {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  fetch(request: Request): Promise<Response>;
}

function transportOf(client: unknown): Transport | undefined {
  const inner = (client as { readonly _client?: { getConfig?(): unknown } } | undefined)?._client;
  const config = inner?.getConfig?.() as
    | { readonly baseUrl?: unknown; readonly fetch?: unknown; readonly headers?: unknown }
    | undefined;
  if (typeof config?.baseUrl !== "string" || typeof config.fetch !== "function") return undefined;
  const headers: Record<string, string> = {};
  new Headers((config.headers ?? {}) as Record<string, string>).forEach((value, name) => {
    headers[name] = value;
  });
  const send = config.fetch as (request: Request) => Promise<Response>;
  return { baseUrl: config.baseUrl, headers, fetch: (request) => send(request) };
}
