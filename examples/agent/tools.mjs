// What the model may do: read, and after asking, edit and run.
import { spawn } from "node:child_process";
import { readFile, rename, writeFile } from "node:fs/promises";
import { tool } from "ai";
import { z } from "zod";

/** The tools. `allow(question, signal)` throws when the user does not agree; what is thrown is told to the model. */
export function createTools(allow) {
  return {
    read: tool({
      description: "Reads a text file.",
      inputSchema: z.object({ path: z.string() }),
      execute: ({ path }) => readFile(path, "utf8"),
    }),
    edit: tool({
      description: "Replaces a text that occurs once in a file; an empty `old` writes the whole file.",
      inputSchema: z.object({ path: z.string(), old: z.string(), new: z.string() }),
      async execute({ path, old, new: replacement }, { abortSignal }) {
        const pieces = old === "" ? ["", ""] : (await readFile(path, "utf8")).split(old);
        if (pieces.length !== 2) throw new Error(`It is ${pieces.length - 1} times in ${path}, not once.`);
        await allow(`Change ${path}?\n${mark("- ", old)}${mark("+ ", replacement)}`, abortSignal);
        // A file beside it that takes its name: whoever reads it, or is killed, has the old or the new one.
        const beside = `${path}.${process.pid}.new`;
        await writeFile(beside, pieces.join(replacement), { flush: true });
        await rename(beside, path);
        return `${path} is written.`;
      },
    }),
    bash: tool({
      description: "Runs a command with bash in the current folder and gives what it prints.",
      inputSchema: z.object({ command: z.string(), timeoutS: z.int().optional() }),
      async execute({ command, timeoutS = 120 }, { abortSignal }) {
        await allow(`Run this?\n${mark("$ ", command)}`, abortSignal);
        return run(command, AbortSignal.any([abortSignal, AbortSignal.timeout(timeoutS * 1_000)]));
      },
    }),
  };
}

const mark = (sign, text) => (text === "" ? "" : `${text.replace(/^/gm, sign)}\n`);

/** What a command prints, until it ends or is stopped with everything that it started. */
function run(command, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", command], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const printed = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => printed.push(bytes));
    signal.addEventListener("abort", () => child.exitCode === null && process.kill(-child.pid, "SIGKILL"));
    child.on("error", reject);
    child.on("close", (code) => {
      const end = signal.aborted ? "\n[stopped]" : code === 0 ? "" : `\n[exit code ${code}]`;
      resolve(`${Buffer.concat(printed).toString("utf8")}${end}`);
    });
  });
}
