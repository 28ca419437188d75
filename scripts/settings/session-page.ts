import { type Field, readInterface, readUnion, sentenceOver } from "./read-interface.ts";

const ACTIONS = "src/session/action.ts";
const LOG = "src/session/events.ts";
const COMPACT = "src/compaction/compact.ts";
const ASK = "src/compaction/ask-summarizer.ts";
const SUMMARY_CHECK = "src/compaction/summary/request.ts";
const TRIGGER = "src/compaction/trigger/should-compact.ts";

/** docs/session.md, from the types of a session; what a word means that a type only names is below. */
export function sessionPage(): string {
  return `${[HEAD, actions(), REASONS, events(), methods(), TAIL].join("\n\n")}\n`;
}

/** Words of a union without a meaning here, and meanings of words that are gone. */
export function unexplainedWords(): readonly string[] {
  const unions: readonly (readonly [Readonly<Record<string, string>>, readonly string[]])[] = [
    [
      IDLE,
      [
        ...readUnion(ACTIONS, "IdleReason").filter((word) => word !== "CompactReason"),
        ...readUnion(TRIGGER, "CompactReason"),
      ],
    ],
    [GIVE_UP, readUnion(ACTIONS, "GiveUpReason")],
    [WARNINGS, readUnion(LOG, "WarningCode")],
    [
      FAILURES,
      [
        ...readUnion(SUMMARY_CHECK, "SummaryRefusal"),
        ...readUnion(ASK, "DegradedReason").filter(
          (word) => !["SummaryRefusal", "no-summarizer"].includes(word),
        ),
        "failed",
      ],
    ],
  ];
  return unions.flatMap(([meanings, words]) => [
    ...words.filter((word) => meanings[word] === undefined),
    ...Object.keys(meanings).filter((word) => !words.includes(word)),
  ]);
}

const HEAD = `<!-- Written by \`npm run docs:settings\`; change the types, scripts/settings, or the code. -->
# A session

\`createSession\` keeps one conversation within its model's window. Messages come in and are kept unchanged; edits go into batches beside them, and the window is computed from both. So nothing is lost: every batch is journalled, can be undone, and what it took out of the window can be recalled. [settings.md](settings.md) has every option.

\`\`\`ts
const session = createSession({ clock: createSystemClock(), summarizer }, { model, limits });
for (;;) {
  session.observe(anthropic.decode(messages)); // the whole list each time, or session.append(message) with ids of your own
  const action = await session.prepare();      // whatever is due: trims, sums up, prunes, compacts, recovers
  if (action.type === "give-up") throw new Error(action.message);
  try {
    message = await callModel(anthropic.encode(session.messages()));
  } catch (error) {
    if (!session.onProviderError(error).isOverflow) throw error;   // else prepare() makes the window smaller
  }
}
\`\`\`

A wire has no place for what the provider counted, so \`decode\` cannot give it: add \`usage\` and \`finish\` to the answer, and the window is measured by them instead of estimated. With the AI SDK \`answerFacts(part)\` of \`carryover/ai-sdk\` gives both.

\`\`\`ts
const usage = { inputTokens, outputTokens, reasoningTokens: 0, cacheReadTokens, cacheWriteTokens };   // as the provider said
session.append({ ...anthropic.decode(messages).at(-1), usage, finish });   // messages: all so far, the answer last
\`\`\`

## The order of things in a turn

\`prepare()\` asks \`nextAction()\`, runs what it says, and asks again, until the answer is one for you. The questions are asked in this order, and the first that is answered with yes decides:

![Eight questions in order, the action that each leads to, and the call of the model when none is left](pictures/session-turn.svg)

1. **A refusal first.** After \`onProviderError\` the retry steps are taken once each: prune, shrink the outputs of the turn, one compaction by the model, a summary without a model, cut what is still too large, and at last the last request alone. What the provider said of its window is believed from then on.
2. **Outputs before anything reads them.** Only outputs that the model has not answered yet are trimmed, so that no cached prefix is lost.
3. **Stages of your own** (\`stages\`) are called, in order, once for each change of the messages.
4. **A host that compacts by itself** is left alone while its marker waits for its summary. So is a provider of which \`setManagement\` says that it clears or compacts: beside the block that it leaves in an answer a backup summary is kept, a summary without a model that the model is not shown, and where the block cannot be read, is refused, or stands in the way of a compaction of ours, the backup summary takes its place ([what happens in each case](ai-sdk.md#providers-that-manage-the-window)).
5. **Tool summaries**, in the documented profile, or after \`change({ type: "set-strategy" })\`. A summary stands where its result was, so that the newest result stays the last that the model reads; in the documented profile behind the newest result, as document 004 says.
6. **A compaction** when a person asks for it (\`prepare({ demand: "manual" })\`), when the estimate reaches the limit, or when the provider's own count says so. Edits without a model go first where they are enough.
7. **After a turn** (\`prepare({ moment: "after-turn" })\`) edits are made that pay for the cache they cost.
8. **A compaction that will soon be due** is begun (\`backgroundCompaction\`): its summary is written while requests go on. When it is due, the next request waits for what is left of it.`;

const REASON_ROWS = (meanings: Readonly<Record<string, string>>): string =>
  Object.entries(meanings)
    .map(([word, meaning]) => `| \`${word}\` | ${meaning} |`)
    .join("\n");

/** Why nothing is done. */
const IDLE: Readonly<Record<string, string>> = {
  "under-limit": "the window is below its limit",
  "under-messages": "no limit in tokens is known, and there are fewer messages than `maxMessages`",
  "over-limit": "the window is over its limit, and nothing can be done about it now",
  "over-messages": "there are more messages than `maxMessages`, and nothing can be done about it now",
  manual: "a compaction was asked for by hand, and there is nothing to compact",
  recovery: "a refused request is being recovered",
  "auto-off": "`compactAt` is `never`",
  "stale-estimate": "the estimate describes a window that is gone",
  "cooling-down": "the last compaction freed too little; automatic ones wait for three turns",
  aborted: "the signal ended the preparation; what was applied until then stays",
  "in-progress": "another action of this session is running",
  "after-undo": "a person has undone the last batch; it is not done again for three turns",
  "summary-failed": "the summarizer failed; the window stays in force while it fits",
  vetoed: "a hook has forbidden the compaction",
  "host-compacts": "the owner of the messages is compacting them",
  "provider-compacts": "the provider compacts by itself, as `setManagement` said",
  "nothing-to-gain": "what could be replaced is too little to matter",
  "no-messages": "a compaction was asked for before any message came in: observe or restore them first",
};

/** Why the session cannot go on by itself. */
const GIVE_UP: Readonly<Record<string, string>> = {
  "does-not-fit": "what is sent beside the messages takes all the room",
  "still-refused": "the provider refuses even the smallest window",
  "auto-off": "the window is full and `compactAt` is `never`: compact by hand",
  "rate-limit-size": "the request is larger than the rate limit itself",
  "no-media": "the provider refused the size of media, and there are none left to drop",
};

/** Why no summary of the model was used. */
const FAILURES: Readonly<Record<string, string>> = {
  error: "the summarizer threw; `detail` has what it said",
  timeout: "a call of it took longer than 90 seconds",
  idle: "it was silent for 30 seconds after its first piece",
  "window-too-small": "what is to be summed up does not fit into the summarizer's window",
  "not-text": "its answer was no text",
  blank: "its answer was empty, or nothing but reasoning",
  "tool-call": "it called a tool instead of writing",
  "not-prose": "it wrote JSON",
  refusal: "it refused to answer",
  echo: "it gave the request back",
  "repeats-itself": "it repeated the previous summary instead of merging it",
  "too-long": "its summary was longer than allowed, or than what it was made from",
  failed: "something else broke; `detail` has what it said",
};

const WARNINGS: Readonly<Record<string, string>> = {
  "compaction-gained-little": "a compaction freed less than a tenth of the limit",
  "not-journalled":
    "a record could not be written in time; the session goes on and writes it again; told once until it is written",
  "journal-damaged": "records of the journal could not be read when the session was restored",
  "no-usable-window": "the reserve for the answer leaves nothing of the window",
  "window-raised": "the provider took more than the known window: a larger one counts from now on",
  "formulas-disagree": "the two ways to count an overflow differ for this model; told once",
  "edits-dropped": "messages that a batch edited are gone",
  "no-messages": "somebody asked for a compaction before any message came in",
  "protected-output-dropped":
    "outputs that `perTool` keeps would not leave enough of the window, and are treated like others; told once for each",
  "message-repeated": "a message was appended that is there already, and was not taken; told once",
  "usage-not-believed":
    "the usage that the provider reports cannot be true: the estimate is used instead; told once",
  "stage-failed":
    "a function of the option `stages` threw, took too long or gave what are no edits of its messages; told once for each",
  "hook-failed": "a hook threw, hung or answered nonsense",
  "thoughts-dropped":
    "the provider says that it did not read some of the model's earlier thoughts: what stands before them is not what stood there when they were made, or another model made them; told again when it drops more",
  "not-persisted":
    "`persist` of the middleware failed or took too long, told once until it works again; or `onCompact` did",
  "provider-not-compacting":
    "the provider was asked to compact and did not; told once, and then it is not asked again for this model",
  "request-not-edited":
    "what the middleware wanted to send breaks a rule of the providers: the messages go out as they came",
  "other-conversation":
    "a request to a model of `carryover()` has nothing in common with its conversation, and was sent as it came; told once",
};

const REASONS = `### Why nothing is done

\`reason\` of \`none\`. \`fits\` beside it is false when the window is over its limit all the same. After \`prepare({ demand: "manual" })\` it is \`manual\` when there is nothing to compact, \`summary-failed\` or \`vetoed\` when nothing was compacted for that reason, and another one when it is done; \`ledger().at(-1)\` has the figures.

| reason | |
|---|---|
${REASON_ROWS(IDLE)}

### Why a session gives up

\`reason\` of \`give-up\`. Its \`message\` says in a sentence what to do.

| reason | |
|---|---|
${REASON_ROWS(GIVE_UP)}`;

/** Names in the union of actions and events that are not interfaces of the same file. */
const PLACES: Readonly<Record<string, string>> = {
  CompactionEvent: COMPACT,
  CompactionProgress: "src/compaction/progress.ts",
};

function actions(): string {
  const rows = readUnion(ACTIONS, "SessionAction").map((name) => {
    const fields = readInterface(ACTIONS, name);
    return `| ${typeOf(fields)} | ${sentenceOver(ACTIONS, name)} | ${payload(fields)} |`;
  });
  return `## Actions

What \`nextAction()\` answers, and what \`run(action)\` takes. The first eight \`prepare()\` does by itself; the others are for you. An action carries the \`version\` of the state that it was decided on, and is not run on another.

| action | what it is | with it |
|---|---|---|
${rows.map(escapePipes).join("\n")}`;
}

function events(): string {
  const rows = readUnion(LOG, "SessionEvent").flatMap((name) => eventRows(PLACES[name] ?? LOG, name));
  return `## Events

\`onEvent\` is called for each, in order. Every start is followed by exactly one end, also after an abort; a failure is told before the end.

| event | when | with it |
|---|---|---|
${rows.map(escapePipes).join("\n")}

### Why no summary was used

\`reason\` of \`compaction.failed\`, and \`degraded\` of \`compaction_end\`, where \`no-summarizer\` says that there is none. After an error or an answer that could not be used the summarizer is asked once more.

| reason | |
|---|---|
${REASON_ROWS(FAILURES)}

### Warnings

\`code\` of \`warning\`; \`message\` says it in a sentence.

| code | |
|---|---|
${REASON_ROWS(WARNINGS)}`;
}

function eventRows(file: string, name: string): readonly string[] {
  if (file === COMPACT && name === "CompactionEvent")
    return readUnion(file, name).flatMap((each) => eventRows(PLACES[each] ?? file, each));
  const own = readInterface(file, name);
  const inherited =
    file === COMPACT && name !== "CompactionStart" ? readInterface(file, "CompactionStart") : [];
  const fields = [...own, ...inherited.filter(({ name: field }) => field !== "type")];
  return [`| ${typeOf(own)} | ${sentenceOver(file, name)} | ${payload(fields)} |`];
}

function methods(): string {
  const rows = readInterface("src/session/session.ts", "Session").map(
    ({ name, type, sentence }) => `| \`${name}${type}\` | ${sentence} |`,
  );
  return `## Methods

| | |
|---|---|
${rows.map(escapePipes).join("\n")}`;
}

const TAIL = `## Anthropic's compaction on demand

A summary of ours is another text before the messages that stay, so a model that binds its thoughts to everything before them (\`afterEdit\` of its facts) has to be sent these without their thoughts. Anthropic can sum up by itself when it is asked (\`compact-2026-09-04\`; Claude API, Claude Platform on AWS, Google Cloud, Foundry; not Bedrock): its signed block stands for exactly the messages that it was sent, and the thoughts of those behind it hold. Give the summarizer \`byProvider\`, and a compaction asks it where that costs less than our summary and thinking again: one request over the messages at the price of cache reads, and its answer. Once the cache is gone, within hooks, with outputs that \`perTool\` keeps before the cut, or for a model whose prices are not known, a summary is written as ever; so it is after a failure, which is told once.

\`\`\`ts
const headers = { "x-api-key": key, "anthropic-version": "2023-06-01", "anthropic-beta": "compact-2026-09-04", "content-type": "application/json" };
const summarizer: Summarizer = {
  summarize,                    // for whatever the provider is not asked
  byProvider: {
    keptFrom: "any",            // "user" where answers that follow each other are joined on the way
    async compact({ edits, instructions, maxOutputTokens }, { signal, onUsage }) {
      const body = {
        ...{ model, system, tools, max_tokens: maxOutputTokens },           // as in every other request
        messages: anthropic.apply(messages, edits, { at: Date.now() }),     // messages: all so far
        compaction: { type: "summarize", instructions },
      };
      const response = await fetch("https://api.anthropic.com/v1/messages", { method: "POST", headers, signal, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(await response.text());
      const { content, stop_reason, usage } = await response.json();
      onUsage?.({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, reasoningTokens: 0, cacheReadTokens: usage.cache_read_input_tokens, cacheWriteTokens: usage.cache_creation_input_tokens });
      return stop_reason === "compaction" ? content.find(({ type }) => type === "compaction") : undefined;
    },
  },
};
\`\`\`

Every request from then on needs the same header, and messages written by \`anthropic.apply(messages, session.edits(), { at })\`. What must not be lost whatever the provider writes (the user's words, pins, files) stands in a message of its own behind the kept answers. A readable backup summary is kept beside the block; it takes its place when a model is asked that takes no such block, or when the provider refuses it. All of this is as documented and was checked against an emulation, not against the service.

## What stays when the program ends

- **A journal** (port \`journal\`) gets every batch, undo and step. \`session.restore(transcript)\` in a new process puts in force what was done. It does not hold what a host says anew: model, overhead, management. \`toJSON()\` gives the whole state as plain data: with the same messages, and the usage in them, the restored session decides and sends the same (version 3; \`restore\` also reads 1 and 2). \`status().unsaved\` names the batches that are not safely written yet. Its size is bounded by the window, not by the age of the conversation: what cannot be taken back any more becomes one batch, summaries that others have replaced are dropped with their key facts, and what edits take from the messages is named, not repeated. Every journal gets small records and, from time to time, a snapshot in place of all before it. Where \`keeps\` is \`"state"\`, what stands before a snapshot may be deleted. Any other journal keeps it, to show later what was done and why, and grows with that.
- **Outputs** (port \`outputs\`) keep the whole of what was cut. \`session.recall(handle)\` reads it again, trimmed; \`session.recall({ search })\` looks through everything that left the window (with \`handle\`, through what that names), by words or for an exact text, and gives \`pieces\`: handle, the lines around the hits, best first. The index is built at the first search. \`recallTool\` is the name of your tool for the model, which notices then say.
- **\`undo()\`** takes the newest batch back. It reaches back to the compaction before the newest one, and at most 20 to 40 batches; then its status is \`nothing\`. What older steps hid can still be recalled, and what a person has undone is not done again for three turns. \`change({ type: "set-auto", autoCompact: false })\` and its like change settings while the session runs.`;

function typeOf(fields: readonly Field[]): string {
  const type = fields.find(({ name }) => name === "type")?.type ?? "";
  return type
    .split("|")
    .map((word) => `\`${word.trim().replaceAll('"', "")}\``)
    .join(", ");
}

function payload(fields: readonly Field[]): string {
  return fields
    .filter(({ name }) => name !== "type" && name !== "version")
    .map(({ name, type, sentence }) => `\`${name}\`: ${sentence === "" ? `\`${type}\`` : lower(sentence)}`)
    .join("<br>");
}

function lower(sentence: string): string {
  return sentence.replace(/\.$/, "").replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
}

/** Pipes inside a cell. */
function escapePipes(row: string): string {
  const cells = row.slice(2, -2).split(/ \| (?=(?:[^`]*`[^`]*`)*[^`]*$)/);
  return `| ${cells.map((each) => each.replaceAll("|", "\\|")).join(" | ")} |`;
}
