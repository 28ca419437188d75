import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedInspector, serveInspector } from "../../src/inspector/server/serve-inspector.ts";
import { createFixedSource } from "../../src/inspector/server/session-source.ts";
import { waitFor } from "../rig/wait-for.ts";
import { FAKE_ASSETS, sendRaw, sessionOf } from "./server-support.ts";

let inspector: ServedInspector;
let port = 0;
const sockets: Socket[] = [];

beforeAll(async () => {
  inspector = await serveInspector({
    source: createFixedSource(sessionOf(1)),
    assets: FAKE_ASSETS,
    headersMs: 300,
  });
  port = Number(new URL(inspector.origin).port);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await inspector.stop();
});

/** A connection whose other side never closes it by itself. */
function open(bytes: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => {
      socket.write(bytes);
      resolve(socket);
    });
    socket.on("error", () => {});
    sockets.push(socket);
  });
}

const HALF = "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ";
const whole = () => `GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`;

describe("slow and idle connections", () => {
  it.each([
    { name: "half requests", bytes: () => HALF },
    {
      name: "requests whose answers nobody reads",
      bytes: () => whole().replace("connection: close\r\n", ""),
    },
    { name: "connections that say nothing", bytes: () => "" },
  ])("200 $name shut nobody out", async ({ bytes }) => {
    const many = await Promise.all(Array.from({ length: 200 }, () => open(bytes())));
    expect((await sendRaw(port, whole())).status).toBe(200);
    for (const socket of many) socket.destroy();
  });

  it("of 200 at most 128 stay open: the oldest are ended at once, whatever time they would have had", async () => {
    const patient = await serveInspector({ source: createFixedSource(sessionOf(1)), assets: FAKE_ASSETS });
    let ended = 0;
    const many = Array.from({ length: 200 }, () =>
      connect({ port: Number(new URL(patient.origin).port), host: "127.0.0.1" })
        .on("error", () => {})
        .on("close", () => {
          ended += 1;
        })
        .resume(),
    );
    await expect.poll(() => ended, { timeout: 9_000 }).toBe(200 - 128);
    for (const socket of many) socket.destroy();
    await patient.stop();
  });

  it("one that took too long is destroyed, also when it does not close its side", async () => {
    const socket = await open(HALF);
    let isReset = false;
    socket.on("error", () => {
      isReset = true;
    });
    let text = "";
    socket.setEncoding("utf8").on("data", (more: string) => {
      text += more;
    });
    await waitFor(() => text.includes("408") || undefined, "an answer that it took too long");
    await waitFor(() => {
      if (!socket.destroyed) socket.write("more: of it\r\n");
      return isReset || undefined;
    }, "a connection that is gone");
  });
});
