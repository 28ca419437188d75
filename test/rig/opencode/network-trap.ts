import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Starts a proxy that lets nothing through and notes what was asked for: as everybody's proxy it shows each leak. */
export async function startNetworkTrap(): Promise<NetworkTrap> {
  const attempts: string[] = [];
  const server = createServer((request, response) => {
    attempts.push(`${request.method} ${request.url}`);
    request.resume();
    response.writeHead(403).end();
  });
  server.on("connect", (request, socket) => {
    attempts.push(`CONNECT ${request.url}`);
    socket.on("error", () => {}); // The client may hang up first.
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    attempts,
    env: proxyEnvironment(url),
    forget: () => void attempts.splice(0),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface NetworkTrap {
  /** Everything that was asked for beyond this machine, oldest first. */
  readonly attempts: readonly string[];
  /** What a program needs in its environment to fall into the trap. */
  readonly env: Readonly<Record<string, string>>;
  /** Empties the list: what is in it was meant to happen. */
  forget(): void;
  stop(): Promise<void>;
}

function proxyEnvironment(url: string): Readonly<Record<string, string>> {
  const direct = "127.0.0.1,localhost,::1";
  const upper = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: direct };
  return {
    ...upper,
    ...Object.fromEntries(Object.entries(upper).map(([name, value]) => [name.toLowerCase(), value])),
  };
}
