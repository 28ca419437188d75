import {
  type Block,
  createResultLookup,
  type History,
  type HistoryCall,
  type HistoryResult,
  type Turn,
  turnsOf,
} from "./history.ts";

type Line = Record<string, unknown>;

const time = (number: number): string => new Date(1_700_000_000_000 + number * 1_000).toISOString();

/** A file whose lines name the line before them; going back is naming an earlier one. */
function createTree(lines: Line[], idOf: () => string, link: (id: string, parent: string | null) => Line) {
  const tips: (string | null)[] = [];
  let tip: string | null = null;
  return {
    push(line: Line, parent = tip): string {
      const id = idOf();
      lines.push({ ...link(id, parent), ...line });
      tip = id;
      return id;
    },
    /** Called before each turn, so that one can go back to it. */
    startTurn: (): void => void tips.push(tip),
    goBack(turns: number): void {
      tip = tips[Math.max(0, tips.length - 1 - turns)] ?? null;
    },
    tip: () => tip,
    turnStart: (back: number) => tips.at(-1 - back),
  };
}

/** As Claude Code writes it: a line for each block, results beside each other, progress in the chain. */
export function lowerToClaudeCode(history: History): readonly Line[] {
  const lines: Line[] = [];
  const tree = createTree(
    lines,
    () => `uuid-${lines.length + 1}`,
    (uuid, parentUuid) => ({
      parentUuid,
      isSidechain: false,
      cwd: "/work",
      sessionId: "session-1",
      version: "2.1.0",
      uuid,
      timestamp: time(lines.length + 1),
    }),
  );
  const user = (content: unknown, more: Line = {}) => ({
    type: "user",
    message: { role: "user", content },
    ...more,
  });
  /** The lines of the newest answer's calls: their results hang beside each other. */
  let callLines = new Map<string, string>();
  for (const turn of turnsOf(history)) {
    tree.startTurn();
    if (turn.type !== "results") callLines = new Map();
    switch (turn.type) {
      case "user":
        for (const text of turn.texts) tree.push(user(text));
        break;
      case "aside":
        tree.push({ type: "progress", data: { type: "hook_progress" } });
        lines.push({ type: "file-history-snapshot", messageId: "m", snapshot: {} });
        tree.push(user("aside", { isSidechain: true }), null);
        tree.goBack(0);
        break;
      case "results":
        for (const result of turn.results) {
          const parent = callLines.get(result.callId) ?? tree.tip();
          tree.push(user([claudeResult(result)], { toolUseResult: { stdout: result.text } }), parent);
        }
        break;
      case "compaction": {
        const boundary = { subtype: "compact_boundary", compactMetadata: { trigger: "auto" } };
        tree.push({ type: "system", ...boundary, logicalParentUuid: tree.tip() }, null);
        tree.push(user(turn.summary, { isCompactSummary: true }));
        break;
      }
      case "rewind":
        tree.goBack(turn.steps);
        break;
      case "answer": {
        const id = `msg-${lines.length + 1}`;
        for (const [index, block] of turn.blocks.entries()) {
          const usage = { input_tokens: 10, output_tokens: index, cache_read_input_tokens: 5 };
          const uuid = tree.push({
            type: "assistant",
            message: {
              id,
              role: "assistant",
              model: "claude",
              content: [claudeBlock(block)],
              usage: { ...usage, cache_creation_input_tokens: 1 },
              stop_reason: index + 1 === turn.blocks.length ? "end_turn" : null,
            },
          });
          if (block.type === "call") callLines.set(block.call.id, uuid);
        }
        break;
      }
      default:
        turn satisfies never;
    }
  }
  return lines;
}

function claudeBlock(block: Block): Line {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "thought") return { type: "thinking", thinking: block.text, signature: "signed" };
  return { type: "tool_use", id: block.call.id, name: block.call.tool, input: block.call.input };
}

function claudeResult({ callId, text, isError, image }: HistoryResult): Line {
  const source = { type: "base64", media_type: "image/png", data: image };
  const content =
    image === undefined
      ? text
      : [
          { type: "text", text },
          { type: "image", source },
        ];
  return { type: "tool_result", tool_use_id: callId, content, ...(isError && { is_error: true }) };
}

/** As pi writes it: a tree of lines, a compaction that names the first line it kept. */
export function lowerToPi(history: History): readonly Line[] {
  const lines: Line[] = [{ type: "session", version: 3, id: "s", timestamp: time(0), cwd: "/work" }];
  const tree = createTree(
    lines,
    () => `e${lines.length}`,
    (id, parentId) => ({ id, parentId, timestamp: time(lines.length) }),
  );
  const message = (body: Line): void => void tree.push({ type: "message", message: body });
  for (const turn of turnsOf(history)) {
    tree.startTurn();
    switch (turn.type) {
      case "user":
        message({ role: "user", content: turn.texts.map((text) => ({ type: "text", text })), timestamp: 1 });
        break;
      case "aside":
        tree.push({ type: "model_change", provider: "p", modelId: "m" });
        message({ role: "bashExecution", command: "ls", output: "a", exitCode: 0 });
        tree.push({ type: "custom_message", customType: "x", content: "noted", display: true });
        break;
      case "results":
        for (const { callId, tool, text, isError, image } of turn.results) {
          const images = image === undefined ? [] : [{ type: "image", mimeType: "image/png", data: image }];
          const content = [{ type: "text", text }, ...images];
          const details = { diff: text };
          message({ role: "toolResult", toolCallId: callId, toolName: tool, content, isError, details });
        }
        break;
      case "compaction": {
        const firstKeptEntryId = tree.turnStart(turn.kept) ?? "gone";
        tree.push({ type: "compaction", summary: turn.summary, firstKeptEntryId, tokensBefore: 9 });
        break;
      }
      case "rewind":
        tree.goBack(turn.steps);
        tree.push({ type: "branch_summary", fromId: "x", summary: "the other way did not work" });
        break;
      case "answer":
        message({
          role: "assistant",
          content: turn.blocks.map(piBlock),
          provider: "p",
          model: "m",
          usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 },
          stopReason: "stop",
        });
        break;
      default:
        turn satisfies never;
    }
  }
  return lines;
}

function piBlock(block: Block): Line {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "thought") return { type: "thinking", thinking: block.text, thinkingSignature: "s" };
  return { type: "toolCall", id: block.call.id, name: block.call.tool, arguments: block.call.input };
}

/** As Codex writes it: items in envelopes, counts of tokens, a history that replaces the old one. */
export function lowerToCodex(history: History): readonly Line[] {
  const lines: Line[] = [];
  const push = (type: string, payload: Line): void =>
    void lines.push({ timestamp: time(lines.length), type, payload });
  const item = (payload: Line): void => push("response_item", payload);
  push("session_meta", { id: "s", cwd: "/work", model_provider: "openai" });
  let turns = 0;
  for (const turn of turnsOf(history)) {
    switch (turn.type) {
      case "user":
        turns++;
        item(codexMessage("user", ...turn.texts));
        break;
      case "aside":
        push("turn_context", { model: "gpt-5", cwd: "/work" });
        push("event_msg", { type: "agent_message", message: "aside" });
        item(codexMessage("user", "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"));
        break;
      case "results":
        for (const { callId, text, image } of turn.results) {
          const file = { type: "input_image", image_url: `data:image/png;base64,${image}` };
          const output = image === undefined ? text : [{ type: "input_text", text }, file];
          item({ type: "function_call_output", call_id: callId, output });
        }
        break;
      case "compaction": {
        turns = 0;
        const replacement_history = [codexMessage("user", "the task"), codexMessage("user", turn.summary)];
        const encrypted = { type: "compaction", encrypted_content: "x" };
        const kept = turn.kept > 1 ? [...replacement_history, encrypted] : replacement_history;
        push("compacted", { message: turn.summary, ...(turn.kept > 0 && { replacement_history: kept }) });
        break;
      }
      case "rewind": {
        const num_turns = Math.min(turns, turn.steps);
        push("event_msg", { type: "thread_rolled_back", num_turns });
        turns -= num_turns;
        break;
      }
      case "answer": {
        for (const block of turn.blocks) item(codexItem(block));
        const last_token_usage = { input_tokens: 9, cached_input_tokens: 4, output_tokens: 2 };
        const more = { reasoning_output_tokens: 1, total_tokens: 11 };
        push("event_msg", {
          type: "token_count",
          info: { last_token_usage: { ...last_token_usage, ...more } },
        });
        break;
      }
      default:
        turn satisfies never;
    }
  }
  return lines;
}

function codexItem(block: Block): Line {
  if (block.type === "text") return codexMessage("assistant", block.text);
  if (block.type === "thought") {
    const summary = [{ type: "summary_text", text: block.text }];
    return { type: "reasoning", summary, encrypted_content: "secret" };
  }
  const { id, tool, input } = block.call;
  return { type: "function_call", name: tool, arguments: JSON.stringify(input), call_id: id };
}

function codexMessage(role: string, ...texts: readonly string[]): Line {
  const type = role === "assistant" ? "output_text" : "input_text";
  return { type: "message", role, content: texts.map((text) => ({ type, text })) };
}

/** As SWE-agent writes it: a history with an observation behind each action, and the same again as steps. */
export function lowerToSweAgent(history: History): Line {
  const entries: Line[] = [{ role: "system", content: "be good", agent: "main" }];
  const trajectory: Line[] = [];
  const resultOf = createResultLookup(history);
  for (const [number, turn] of turnsOf(history).entries()) {
    if (turn.type === "user")
      entries.push(...turn.texts.map((content) => ({ role: "user", content, agent: "main" })));
    if (turn.type === "aside") entries.push({ role: "user", content: `demo ${number}`, is_demo: true });
    for (const { callId, text } of lostResults(turn))
      entries.push({ role: "tool", content: text, tool_call_ids: [`${callId}-${number}`] });
    for (const [index, block] of turn.type === "answer" ? turn.blocks.entries() : []) {
      if (block.type !== "call") {
        entries.push({ role: "assistant", content: `${number}/${index} ${block.text}`, agent: "main" });
        continue;
      }
      const { id, tool, input } = block.call;
      const result = resultOf(id);
      const action = `${tool} ${number} ${index}`;
      const thought = `thinking of ${number}/${index}`;
      const isNamed = index % 2 === 0;
      const content = isNamed ? thought : `${thought}\n\`\`\`\n${action}\n\`\`\``;
      const called = { name: tool, arguments: JSON.stringify(input) };
      const calls = isNamed ? { tool_calls: [{ id, type: "function", function: called }] } : {};
      entries.push({ role: "assistant", content, thought, action, agent: "main", ...calls });
      trajectory.push({ action, observation: result?.text ?? "", response: content, thought });
      if (result === undefined) continue;
      entries.push(
        isNamed
          ? { role: "tool", content: result.text, tool_call_ids: [id] }
          : { role: "user", content: result.text },
      );
    }
  }
  return { environment: "main", trajectory, history: entries, info: { exit_status: "submitted" } };
}

function lostResults(turn: Turn): readonly HistoryResult[] {
  return turn.type === "results" ? turn.results.filter(({ callId }) => callId === "lost") : [];
}

/** As Gemini CLI writes it: a record for each message, calls with their results, records written again. */
export function lowerToGeminiCli(history: History): readonly Line[] {
  const lines: Line[] = [{ sessionId: "s", projectHash: "h", startTime: time(0), lastUpdated: time(1) }];
  const resultOf = createResultLookup(history);
  const ids: string[] = [];
  const push = (line: Line): Line => {
    const record = { id: `r${lines.length}`, timestamp: time(lines.length), ...line };
    ids.push(record.id);
    lines.push(record);
    return record;
  };
  for (const [number, turn] of turnsOf(history).entries()) {
    switch (turn.type) {
      case "user":
        for (const text of turn.texts) push({ type: "user", content: number % 2 === 0 ? text : [{ text }] });
        break;
      case "aside":
        push({ type: "info", content: "an update is there" });
        lines.push({ $set: { lastUpdated: time(number) } });
        break;
      case "rewind":
        lines.push({ $rewindTo: ids.at(-turn.steps) ?? "gone" });
        break;
      case "compaction":
        lines.push({ $set: { summary: "a title" } });
        break;
      case "answer": {
        const texts = turn.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
        const thoughts = turn.blocks.flatMap((block) =>
          block.type === "thought" ? [{ subject: "so", description: block.text, timestamp: time(1) }] : [],
        );
        const tokens = { input: 9, output: 2, cached: 3, thoughts: 1, tool: 0, total: 12 };
        const record = push({ type: "gemini", content: texts.join(""), thoughts, tokens, model: "gemini" });
        const toolCalls = turn.blocks.flatMap((block) =>
          block.type === "call" ? [geminiCall(block.call, resultOf(block.call.id))] : [],
        );
        lines.push({ ...record, toolCalls });
        break;
      }
      case "results":
        break;
      default:
        turn satisfies never;
    }
  }
  return lines;
}

function geminiCall({ id, tool, input }: HistoryCall, result: HistoryResult | undefined): Line {
  const call = { id, name: tool, args: input };
  if (result === undefined) return { ...call, status: "scheduled" };
  const { text, isError } = result;
  const functionResponse = { id, name: tool, response: isError ? { error: text } : { output: text } };
  const status = isError ? "error" : "success";
  return { ...call, status, result: [{ functionResponse }], resultDisplay: text };
}
