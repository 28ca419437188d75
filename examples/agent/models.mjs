// A model by `provider/model`, or a scripted one that needs neither a key nor a network.

/** The variables in which keys are, and the model that is asked when none was named. */
const KEYS = {
  ANTHROPIC_API_KEY: "anthropic/claude-sonnet-4-5",
  OPENAI_API_KEY: "openai/gpt-5",
  GOOGLE_GENERATIVE_AI_API_KEY: "google/gemini-2.5-pro",
};

/** The model of that name; without a name, one whose key is there; without a key, the scripted one. */
export async function findModel(given) {
  const name = given ?? KEYS[Object.keys(KEYS).find((key) => process.env[key])] ?? "scripted";
  if (name === "scripted") return scripted;
  const [, provider, id] = /^([a-z0-9]+)\/(.+)$/.exec(name) ?? [];
  if (id === undefined) throw new Error(`"${name}" is no model. Give one such as openai/gpt-5, or scripted.`);
  const key = Object.keys(KEYS).find((known) => KEYS[known].startsWith(`${provider}/`));
  if (key && !process.env[key]) throw new Error(`Set ${key} to your key, or use --model scripted.`);
  const found = await import(`@ai-sdk/${provider}`).catch((cause) => {
    throw new Error(`For ${name} run first: npm install @ai-sdk/${provider}`, { cause });
  });
  return found[provider](id);
}

/** Does what it is told, word for word: enough to try everything out. */
const scripted = {
  specificationVersion: "v3",
  provider: "scripted",
  modelId: "scripted",
  supportedUrls: {},
  async doStream({ prompt, tools }) {
    const { call, text } = tools === undefined ? { text: summaryOf(prompt) } : replyTo(prompt.at(-1));
    const spoken = ["text-start", "text-delta", "text-end"].map((type) => ({ type, id: "0", delta: text }));
    const finishReason = { unified: call === undefined ? "stop" : "tool-calls", raw: "scripted" };
    const finish = { type: "finish", finishReason, usage: { inputTokens: {}, outputTokens: {} } };
    return { stream: ReadableStream.from([...(call ? [call] : spoken), finish]) };
  },
};

const summaryOf = (talk) => `## Goal\nDo as said.\n## Progress\nRead ${JSON.stringify(talk).length} letters.`;
const HELP = "I am scripted: read <file>, run <command>, edit <file> <old> => <new>, recall <text>.";
const COMMANDS = {
  read: /^read (?<path>\S+)$/,
  bash: /^run (?<command>.+)$/s,
  edit: /^edit (?<path>\S+) (?<old>.*?) => (?<new>.*)$/s,
  recall: /^recall (?<search>.+)$/s,
};

function replyTo({ role, content }) {
  if (role === "tool") return { text: `The end of it: ${content[0].output.value.trim().slice(-200)}` };
  const said = content.at(-1).text.split("\n\n").at(-1).trim();
  const toolName = Object.keys(COMMANDS).find((name) => COMMANDS[name].test(said));
  if (toolName === undefined) return { text: HELP };
  const input = JSON.stringify(COMMANDS[toolName].exec(said).groups);
  return { call: { type: "tool-call", toolCallId: crypto.randomUUID(), toolName, input } };
}
