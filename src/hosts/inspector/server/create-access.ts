import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Who may read the session: whoever has the one-time token of an address, and then the token it was swapped for. */
export interface Access {
  /** A new token for an address. It opens the door once. */
  invite(): string;
  /** The token for all requests that follow, or undefined when the one-time token is not, or no longer, good. */
  exchange(oneTimeToken: string): string | undefined;
  /** True for the value of an `Authorization` header with a token that was given out. */
  allows(authorization: string | undefined): boolean;
}

/** Access for nobody yet. Tokens have 256 bits and are kept only as hashes. */
export function createAccess(): Access {
  const invitations: Buffer[] = [];
  const admitted: Buffer[] = [];
  const giveInto = (hashes: Buffer[]): string => {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    hashes.push(hashOf(token));
    return token;
  };
  return {
    invite: () => giveInto(invitations),
    exchange(oneTimeToken) {
      const index = indexIn(invitations, oneTimeToken);
      if (index < 0) return undefined;
      invitations.splice(index, 1);
      return giveInto(admitted);
    },
    allows(authorization) {
      const token = /^Bearer ([\w-]{1,200})$/i.exec(authorization ?? "")?.[1];
      return token !== undefined && indexIn(admitted, token) >= 0;
    },
  };
}

const TOKEN_BYTES = 32;

/** Compares with every hash, so that the time says nothing about any of them. */
function indexIn(hashes: readonly Buffer[], token: string): number {
  const wanted = hashOf(token);
  return hashes.reduce((found, hash, index) => (timingSafeEqual(hash, wanted) ? index : found), -1);
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
