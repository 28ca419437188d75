#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { runCli } from "./cli.ts";
import { guardStream } from "./terminal/guard-stream.ts";

// A reader may close the pipe early, as `| head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

for (const stream of [process.stdout, process.stderr]) guardStream(stream);

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
process.exitCode = await runCli(process.argv.slice(2), version);
