import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type ModelServer, startModelServer } from "../test/rig/model-server/model-server.ts";
import { call, callAll, say } from "../test/rig/model-server/step.ts";
import { LONG_WINDOW } from "../test/rig/opencode/sandbox.ts";
import { type Opencode2, startOpencode2 } from "../test/rig/opencode2/start-opencode2.ts";
import { scrubMachine } from "./record-opencode/scrub.ts";

// Records sample sessions from the real OpenCode 2: node scripts/run-ts.mjs scripts/record-opencode2.ts [case ...]
const CASES: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  /** Text, reasoning, parallel calls, a failed one, a long output that the host cut. */
  async "plain-tools"({ host, model, id }) {
    model.script([
      call("read", { path: "README.md" }, { text: "I look." }),
      callAll(
        [
          { tool: "shell", input: { command: "seq 1 2100" } },
          { tool: "nosuch", input: { a: 1 } },
          { tool: "write", input: { path: "new.txt", content: "hello" } },
        ],
        { reasoning: "Two things at once." },
      ),
      say("Seen."),
    ]);
    await host.prompt(id, "Look around.");
    model.script([say("You are welcome.")]);
    await host.prompt(id, "Thank you.");
  },

  /** Asked for by a person, twice; a message of a program, a command of the user, a file. */
  async compactions({ host, model, id }) {
    const turn = async (text: string): Promise<void> => {
      model.script([call("shell", { command: `echo ${text}` }), say(`${text} is done.`)]);
      await host.prompt(id, text);
    };
    for (const text of ["first", "second", "third"]) await turn(text);
    model.script([say("SUMMARY ONE: first and second are done.", { lane: "any" })]);
    await compact(host, id);
    await host.call("POST", `/api/session/${id}/synthetic`, {
      text: "<note>a program says this</note>",
      description: "a note",
      resume: false,
    });
    await host.call("POST", `/api/session/${id}/shell`, { command: "echo by hand" });
    await host.call("POST", `/api/session/${id}/wait`);
    model.script([say("A small picture.")]);
    await host.call("POST", `/api/session/${id}/prompt`, {
      text: "What is this?",
      files: [{ uri: `data:image/png;base64,${PIXEL}`, name: "pixel.png" }],
    });
    await host.call("POST", `/api/session/${id}/wait`);
    await turn("fourth");
    model.script([say("SUMMARY TWO: all four are done.", { lane: "any" })]);
    await compact(host, id);
    await turn("fifth");
  },

  /** A summary that never comes, and the next turn. */
  async "failed-compaction"({ host, model, id }) {
    model.script([say("Yes.")]);
    await host.prompt(id, "Ready?");
    model.script([say("", { lane: "any" })]);
    await compact(host, id).catch(() => {});
    model.script([say("Still here.")]);
    await host.prompt(id, "And now?");
  },
};

interface Stage {
  readonly host: Opencode2;
  readonly model: ModelServer;
  /** Of the session that is recorded. */
  readonly id: string;
}

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

async function compact(host: Opencode2, id: string): Promise<void> {
  await host.call("POST", `/api/session/${id}/compact`);
  await host.call("POST", `/api/session/${id}/wait`);
}

const folder = resolve("test/recordings/opencode2");
mkdirSync(folder, { recursive: true });
const wanted = process.argv.slice(2);
const model = await startModelServer();
const host = await startOpencode2({ modelUrl: model.url });
try {
  for (const [name, play] of Object.entries(CASES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const id = await host.createSession(name, LONG_WINDOW);
    await play({ host, model, id });
    const machine = { home: host.sandbox.home, modelUrl: model.url, agentUrls: [host.url] };
    const exported = JSON.stringify(scrubMachine(await host.exportSession(id), machine), null, 2);
    writeFileSync(join(folder, `${name}.json`), `${exported}\n`);
    console.log(`${name}: ${exported.length} characters`);
  }
} finally {
  await host.stop();
  await model.stop();
}
