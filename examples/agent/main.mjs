// A coding agent for the terminal; `npm run agent -- --help` says how to use it.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { inspect, parseArgs } from "node:util";
import { normalizeText } from "carryover";
import { defaultStateFolder } from "carryover/node";
import { openAgent } from "./agent.mjs";
import { findModel } from "./models.mjs";
import { createTools } from "./tools.mjs";

const HELP = `npm run agent -- [options] [prompt]
  -m, --model <name>         provider/model or scripted; by the key that is set when not given
  --compaction-model <name>  writes the summaries; the same model when not given
  -c, --continue             go on with the newest session
  -r, --resume <session>     go on with this one
  -y, --yes                  write and run without asking
  --json                     one event a line, for programs
Commands; Ctrl-C ends a turn, and leaves when there is none
  /context             what fills the window
  /compact             sum the old part up now
  /auto on|off         compact when it is due, or only when asked
  /undo                take the last change of the window back
  /recall <text>       read what a handle names, or search what has left the window
  /fork <task>         a child that knows this conversation does it
  /set <name> <value>  such as keepTokens 4000 or profile documented; without a value, show what is set`;
const COMMANDS = HELP.match(/(?<=^ {2}\/)\w+/gm);
const [text, flag] = [{ type: "string" }, { type: "boolean" }];
const OPTIONS = {
  ...{ model: { ...text, short: "m" }, "compaction-model": text, resume: { ...text, short: "r" } },
  ...{ continue: { ...flag, short: "c" }, yes: { ...flag, short: "y" }, json: flag, help: flag },
};

async function main() {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (values.help) return console.log(HELP);
  const model = await findModel(values.model);
  const compactionModel = values["compaction-model"] ? await findModel(values["compaction-model"]) : model;
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true && !values.json;
  const emit = values.json ? (event) => console.log(JSON.stringify(event)) : createPrinter(isTerminal);
  const tools = createTools(async (question, signal) => {
    if (values.yes) return;
    const said = isTerminal && (await input.question(`\n${normalizeText(question)}[y/N] `, { signal }));
    if (!/^y/i.test(said)) throw new Error("The user did not allow this. Ask what to do instead.");
  });
  const folder = sessionFolder(values);
  const agent = await openAgent({ folder, model, compactionModel, tools, emit });
  const input = createInterface({ input: process.stdin, ...(isTerminal && { output: process.stdout }) });
  let running;
  const interrupt = () => (running?.signal.aborted === false ? running.abort() : process.exit(130));
  for (const source of [process, input]) source.on("SIGINT", interrupt);
  const ready = () => {
    emit({ type: "ready", folder, ...agent.context() });
    if (isTerminal) input.prompt();
  };
  ready();
  for await (const line of positionals.length > 0 ? [positionals.join(" ")] : input) {
    if (line.trim() === "") continue;
    const [, command, rest] = /^\/(\w+)\s*(.*)$/s.exec(line.trim()) ?? [];
    running = new AbortController();
    try {
      if (command === undefined) await agent.turn(line, running.signal);
      else if (command === "help") emit({ type: "answer", command, answer: { text: HELP } });
      else if (!COMMANDS.includes(command)) throw new Error(`There is no /${command}; see /help.`);
      else emit({ type: "answer", command, answer: await agent[command](rest, running.signal) });
    } catch ({ message }) {
      emit({ type: running.signal.aborted ? "interrupted" : "error", message });
    }
    running = undefined;
    ready();
  }
  input.close();
}

/** The folder of the session to go on with, or of a new one. */
function sessionFolder({ resume, continue: isContinued }) {
  const root = join(defaultStateFolder(), "agent");
  if (resume === undefined && !isContinued) return join(root, new Date().toISOString().replace(/\W/g, "-"));
  const known = existsSync(root) ? readdirSync(root).sort() : [];
  const name = resume ?? known.findLast((each) => !each.includes("-fork-"));
  if (!known.includes(name)) throw new Error(`No such session; there are: ${known.join(", ") || "none"}.`);
  return join(root, name);
}

/** Prints events for people, in colours on a terminal; what a child answers was printed as it said it. */
function createPrinter(isTerminal) {
  const dim = (text) => (isTerminal && !process.env.NO_COLOR ? `\x1b[2m${text}\x1b[22m` : text);
  const shown = {
    text: ({ text }) => text,
    call: ({ tool, input }) => `\n${tool} ${JSON.stringify(input).slice(0, 200)}\n`,
    result: ({ chars, failed }) => `${failed ? "failed, " : ""}${chars} characters\n`,
    answer: ({ command, answer }) => (command === "fork" ? "" : `\n${answer.text ?? inspect(answer)}\n`),
    ready: ({ tokens, limitTokens }) => `\n${isTerminal ? `${tokens} of ${limitTokens} tokens\n` : ""}`,
    compaction_start: ({ tokensBefore, background }) =>
      background ? "" : `\nCompacting ${tokensBefore} tokens`,
    "compaction.failed": ({ reason }) => `\nNo summary was written: ${reason}\n`,
    compaction_end: ({ tokensAfter, error }) => `\n${error ?? `Now ${tokensAfter} tokens`}\n`,
  };
  let progress;
  return (event) => {
    if (event.type === "compaction_progress") return;
    clearInterval(progress);
    if (event.type === "compaction_start" && !event.background)
      progress = setInterval(() => process.stdout.write("."), 1_000);
    const text = normalizeText(shown[event.type]?.(event) ?? (event.message ? `${event.message}\n` : ""));
    process.stdout.write(event.type === "text" ? text : dim(text));
  };
}

main().catch(({ message }) => {
  console.error(message);
  process.exitCode = 2;
});
