import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between a program and its database, and can be told to let nothing through. */
export async function startProxy(target: string): Promise<Proxy> {
  const address = new URL(target);
  const port = Number(address.port);
  const sockets = new Set<Socket>();
  let isMuted = false;
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on("data", (data) => {
      if (!isMuted) to.write(data);
    });
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  };
  const server = createServer((client) => {
    const upstream = connect(port, address.hostname);
    pass(client, upstream);
    pass(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address.port = String((server.address() as AddressInfo).port);
  return {
    connectionString: address.href,
    mute() {
      isMuted = true;
    },
    unmute() {
      isMuted = false;
    },
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export interface Proxy {
  readonly connectionString: string;
  mute(): void;
  unmute(): void;
  stop(): void;
}
