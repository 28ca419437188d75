import type { AgentPlugin } from "../../plugin/host/agent-host.ts";

/** The headers of a request, by which providers find a cached prefix. */
export interface HeadersEvent {
  readonly sessionID: string;
  readonly headers: Record<string, string>;
}

/** Gives the child of a full fork the headers of the session whose cache it uses. */
export async function useHeadersOfOwner(
  { sessionID, headers }: HeadersEvent,
  plugin: CacheOwners,
): Promise<void> {
  const owner = await plugin.cacheOwnerOf(sessionID);
  if (owner === undefined) return;
  for (const [name, value] of Object.entries(headers))
    if (value === sessionID && name.toLowerCase() !== NAME_OF_REQUEST) headers[name] = owner;
}

/** Names the session of a request, for statistics; the cache key does not depend on it. */
const NAME_OF_REQUEST = "x-session-id";

/** A request as it goes out. */
export interface HttpEvent {
  readonly sessionID: string;
  request: Request;
}

/** Gives the child of a full fork the cache key of the session whose cache it uses. */
export async function useCacheKeyOfOwner(event: HttpEvent, plugin: CacheOwners): Promise<void> {
  const { sessionID, request } = event;
  const owner = await plugin.cacheOwnerOf(sessionID);
  if (owner === undefined || request.body === null) return;
  const text = await request.clone().text();
  const key = `"prompt_cache_key":${JSON.stringify(cacheKey(sessionID))}`;
  if (!text.includes(key)) return;
  const body = text.replace(key, () => `"prompt_cache_key":${JSON.stringify(cacheKey(owner))}`);
  event.request = new Request(request, { body });
}

type CacheOwners = Pick<AgentPlugin, "cacheOwnerOf">;

/** The host's own rule: an id that is a hash stands without its kind, since providers take 64 characters. */
function cacheKey(sessionId: string): string {
  return /^ses_[0-9a-f]{64}$/.test(sessionId) ? sessionId.slice(4) : sessionId;
}
