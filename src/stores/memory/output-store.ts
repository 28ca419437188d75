import type { OutputStore } from "../../tool-output/output-store.ts";

/** An output store in memory; needs Web Crypto and nothing else. */
export function createMemoryOutputStore(): OutputStore {
  const bytesByHandle = new Map<string, Uint8Array>();
  return {
    async put(content) {
      try {
        const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
        const sha256 = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
        bytesByHandle.set(sha256, bytes);
        return { status: "stored", handle: sha256, sha256, bytes: bytes.byteLength };
      } catch (error) {
        return {
          status: "failed",
          code: "NO_DIGEST",
          reason: error instanceof Error ? error.message : "no digest",
        };
      }
    },
    async get(handle) {
      const bytes = bytesByHandle.get(handle);
      return bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    },
  };
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
