import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Creates an access list without tokens. Tokens have 256 bits, and only their hashes are kept. */
export function createAccess(): Access {
  const invitations: Buffer[] = [];
  const admitted: Buffer[] = [];
  const issueInto = (hashes: Buffer[]): string => {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    hashes.push(hashOf(token));
    return token;
  };
  return {
    invite: () => issueInto(invitations),
    exchange(oneTimeToken) {
      const index = indexOfToken(invitations, oneTimeToken);
      if (index < 0) return undefined;
      invitations.splice(index, 1);
      return issueInto(admitted);
    },
    allows(authorization) {
      const token = /^Bearer ([\w-]{1,200})$/i.exec(authorization ?? "")?.[1];
      return token !== undefined && indexOfToken(admitted, token) >= 0;
    },
  };
}

/** Who may read the session: a one-time token in the page's address is exchanged for a token that is sent with every request. */
export interface Access {
  /** Creates a one-time token for an address. */
  invite(): string;
  /** The token for all following requests; undefined when the one-time token is unknown or used. */
  exchange(oneTimeToken: string): string | undefined;
  /** Whether an `Authorization` header carries a token that was given out. */
  allows(authorization: string | undefined): boolean;
}

const TOKEN_BYTES = 32;

/** Compares with every hash, so that the time taken reveals nothing about any of them. */
function indexOfToken(hashes: readonly Buffer[], token: string): number {
  const wanted = hashOf(token);
  return hashes.reduce((found, hash, index) => (timingSafeEqual(hash, wanted) ? index : found), -1);
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
