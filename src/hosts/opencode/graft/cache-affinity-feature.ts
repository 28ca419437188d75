import type { Feature } from "../combine-hooks.ts";
import type { ForkBonds } from "../forks/fork-bonds.ts";

/** Sends an exact child to the provider's cache of its parent: the host names both caches and routes after the session. */
export function createCacheAffinityFeature(bonds: ForkBonds): Feature {
  const parentOf = async (sessionId: string): Promise<string | undefined> => {
    const bond = await bonds.bondOf(sessionId);
    return bond?.way === "exact" ? bond.parent : undefined;
  };
  return {
    name: "cache affinity",
    hooks: {
      "chat.params": async ({ sessionID }, { options }) => {
        const parent = await parentOf(sessionID);
        if (parent === undefined) return;
        for (const [name, value] of Object.entries(options)) if (value === sessionID) options[name] = parent;
      },
      "chat.headers": async ({ sessionID, model }, { headers }) => {
        const parent = await parentOf(sessionID);
        if (parent === undefined) return;
        for (const [name, value] of Object.entries(headers)) if (value === sessionID) headers[name] = parent;
        const isHostsOwn = model.providerID.startsWith("opencode");
        headers[isHostsOwn ? "x-opencode-session" : "x-session-affinity"] = parent;
      },
    },
  };
}
