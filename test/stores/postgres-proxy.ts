import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between a program and its database, and can be told to let nothing through, at once or from some moment on. */
export async function startProxy(target: string): Promise<Proxy> {
  const address = new URL(target);
  const port = Number(address.port);
  const sockets = new Set<Socket>();
  let isMuted = false;
  let stall: Stall | undefined;
  const pass = (from: Socket, to: Socket, side: Stall["side"]): void => {
    sockets.add(from);
    from.on("data", (data) => {
      if (isMuted) return;
      if (stall?.side === side) {
        stall = { ...stall, after: stall.after - 1 };
        if (stall.after <= 0) {
          isMuted = true;
          // In the middle of an answer, or before a statement is heard.
          if (side === "server") to.write(data.subarray(0, Math.floor(data.byteLength / 2)));
          return;
        }
      }
      to.write(data);
    });
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  };
  const server = createServer((client) => {
    const upstream = connect(port, address.hostname);
    pass(client, upstream, "client");
    pass(upstream, client, "server");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address.port = String((server.address() as AddressInfo).port);
  return {
    connectionString: address.href,
    mute() {
      isMuted = true;
    },
    unmute() {
      const wasMuted = isMuted;
      isMuted = false;
      stall = undefined;
      return wasMuted;
    },
    stallAt(at) {
      stall = at;
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
  /** True if nothing was let through until now. */
  unmute(): boolean;
  /** Lets nothing through from the n-th message of one side on. */
  stallAt(stall: Stall): void;
  stop(): void;
}

export interface Stall {
  readonly side: "client" | "server";
  readonly after: number;
}
