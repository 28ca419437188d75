import fc from "fast-check";
import { anyText } from "./random-history/opencode-history.ts";

/** A conversation as a list of steps, which each format writes in its own way. */
export type Script = readonly Step[];

export type Step =
  | { readonly type: "user"; readonly text: string }
  | { readonly type: "assistant"; readonly blocks: readonly ScriptBlock[] }
  | { readonly type: "orphan"; readonly text: string }
  | { readonly type: "compaction"; readonly summary: string; readonly kept: number }
  | { readonly type: "aside" }
  | { readonly type: "rewind"; readonly steps: number };

export type ScriptBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | {
      readonly type: "call";
      readonly tool: string;
      readonly input: object;
      readonly result:
        | { readonly text: string; readonly isError: boolean; readonly hasImage: boolean }
        | undefined;
    };

const block: fc.Arbitrary<ScriptBlock> = fc.oneof(
  { arbitrary: fc.record({ type: fc.constant("text" as const), text: anyText }), weight: 3 },
  { arbitrary: fc.record({ type: fc.constant("thinking" as const), text: anyText }), weight: 1 },
  {
    arbitrary: fc.record({
      type: fc.constant("call" as const),
      tool: fc.constantFrom("bash", "read", "edit", "fork"),
      input: fc.dictionary(fc.constantFrom("path", "command", "old"), anyText, { maxKeys: 2 }),
      result: fc.option(fc.record({ text: anyText, isError: fc.boolean(), hasImage: fc.boolean() }), {
        nil: undefined,
        freq: 5,
      }),
    }),
    weight: 6,
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ type: fc.constant("user" as const), text: anyText }), weight: 4 },
  {
    arbitrary: fc.record({
      type: fc.constant("assistant" as const),
      blocks: fc.array(block, { minLength: 1, maxLength: 4 }),
    }),
    weight: 8,
  },
  { arbitrary: fc.record({ type: fc.constant("orphan" as const), text: anyText }), weight: 1 },
  {
    arbitrary: fc.record({
      type: fc.constant("compaction" as const),
      summary: anyText,
      kept: fc.integer({ min: 0, max: 3 }),
    }),
    weight: 1,
  },
  { arbitrary: fc.constant({ type: "aside" as const }), weight: 2 },
  {
    arbitrary: fc.record({ type: fc.constant("rewind" as const), steps: fc.integer({ min: 1, max: 3 }) }),
    weight: 1,
  },
);

/** Any conversation, with compactions, results without a call, calls without a result, and branches that were left. */
export const anyScript: fc.Arbitrary<Script> = fc.array(step, { maxLength: 14 });

const IMAGE = "iVBORw0KGgo=";
const time = (number: number): string => new Date(1_700_000_000_000 + number * 1000).toISOString();

type Line = Record<string, unknown>;

/** As Claude Code writes it: a line for each block, results beside each other, progress in the chain. */
export function claudeCodeLines(script: Script): readonly Line[] {
  const lines: Line[] = [];
  const tips: (string | null)[] = [];
  let tip: string | null = null;
  const push = (line: Line, parent = tip): void => {
    const number = lines.length + 1;
    const uuid = `uuid-${number}`;
    lines.push({
      parentUuid: parent,
      isSidechain: false,
      cwd: "/work",
      sessionId: "session-1",
      version: "2.1.0",
      uuid,
      timestamp: time(number),
      ...line,
    });
    tip = uuid;
  };
  for (const each of script) {
    tips.push(tip);
    switch (each.type) {
      case "user":
        push({ type: "user", message: { role: "user", content: each.text } });
        break;
      case "aside":
        push({ type: "progress", data: { type: "hook_progress" } });
        lines.push({ type: "file-history-snapshot", messageId: "m", snapshot: {} });
        push({ type: "user", isSidechain: true, message: { role: "user", content: "aside" } }, null);
        tip = tips.at(-1) ?? null;
        break;
      case "orphan":
        push({ type: "user", message: { role: "user", content: [toolResult("lost", each.text)] } });
        break;
      case "compaction":
        push(
          {
            type: "system",
            subtype: "compact_boundary",
            logicalParentUuid: tip,
            compactMetadata: { trigger: "auto" },
          },
          null,
        );
        push({ type: "user", isCompactSummary: true, message: { role: "user", content: each.summary } });
        break;
      case "rewind":
        tip = tips[Math.max(0, tips.length - 1 - each.steps)] ?? null;
        break;
      case "assistant": {
        const id = `msg-${lines.length + 1}`;
        const results: { readonly parent: string | null; readonly line: Line }[] = [];
        for (const [index, part] of each.blocks.entries()) {
          const callId = `${id}-call-${index}`;
          push({
            type: "assistant",
            message: {
              id,
              role: "assistant",
              model: "claude",
              content: [claudeBlock(part, callId)],
              usage: {
                input_tokens: 10,
                output_tokens: index,
                cache_read_input_tokens: 5,
                cache_creation_input_tokens: 1,
              },
              stop_reason: index + 1 === each.blocks.length ? "end_turn" : null,
            },
          });
          if (part.type !== "call" || part.result === undefined) continue;
          const { text, isError, hasImage } = part.result;
          const content = hasImage
            ? [
                { type: "text", text },
                { type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE } },
              ]
            : text;
          results.push({
            parent: tip,
            line: {
              type: "user",
              toolUseResult: { stdout: text },
              message: {
                role: "user",
                content: [{ ...toolResult(callId, content), ...(isError && { is_error: true }) }],
              },
            },
          });
        }
        for (const { parent, line } of results) push(line, parent);
        break;
      }
    }
  }
  return lines;
}

function claudeBlock(block: ScriptBlock, callId: string): Line {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type === "thinking") return { type: "thinking", thinking: block.text, signature: "signed" };
  return { type: "tool_use", id: callId, name: block.tool, input: block.input };
}

function toolResult(callId: string, content: unknown): Line {
  return { type: "tool_result", tool_use_id: callId, content };
}

/** As pi writes it: a tree of lines, a compaction that names the first line it kept. */
export function piLines(script: Script): readonly Line[] {
  const lines: Line[] = [{ type: "session", version: 3, id: "s", timestamp: time(0), cwd: "/work" }];
  const tips: (string | null)[] = [];
  let tip: string | null = null;
  const push = (line: Line): void => {
    const id = `e${lines.length}`;
    lines.push({ id, parentId: tip, timestamp: time(lines.length), ...line });
    tip = id;
  };
  for (const each of script) {
    tips.push(tip);
    switch (each.type) {
      case "user":
        push({
          type: "message",
          message: { role: "user", content: [{ type: "text", text: each.text }], timestamp: 1 },
        });
        break;
      case "aside":
        push({ type: "model_change", provider: "p", modelId: "m" });
        push({
          type: "message",
          message: { role: "bashExecution", command: "ls", output: "a", exitCode: 0 },
        });
        push({ type: "custom_message", customType: "x", content: "noted", display: true });
        break;
      case "orphan":
        push({
          type: "message",
          message: {
            role: "toolResult",
            toolCallId: "lost",
            toolName: "bash",
            content: [{ type: "text", text: each.text }],
            isError: false,
          },
        });
        break;
      case "compaction":
        push({
          type: "compaction",
          summary: each.summary,
          firstKeptEntryId: tips.at(-1 - each.kept) ?? "gone",
          tokensBefore: 9,
        });
        break;
      case "rewind":
        tip = tips[Math.max(0, tips.length - 1 - each.steps)] ?? null;
        push({ type: "branch_summary", fromId: "x", summary: "the other way did not work" });
        break;
      case "assistant": {
        const first = `e${lines.length}`;
        const content = each.blocks.map((part, index) =>
          part.type === "call"
            ? { type: "toolCall", id: `${first}-${index}`, name: part.tool, arguments: part.input }
            : part.type === "thinking"
              ? { type: "thinking", thinking: part.text, thinkingSignature: "s" }
              : { type: "text", text: part.text },
        );
        push({
          type: "message",
          message: {
            role: "assistant",
            content,
            provider: "p",
            model: "m",
            usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 },
            stopReason: "stop",
          },
        });
        for (const [index, part] of each.blocks.entries()) {
          if (part.type !== "call" || part.result === undefined) continue;
          const { text, isError, hasImage } = part.result;
          push({
            type: "message",
            message: {
              role: "toolResult",
              toolCallId: `${first}-${index}`,
              toolName: part.tool,
              content: [
                { type: "text", text },
                ...(hasImage ? [{ type: "image", mimeType: "image/png", data: IMAGE }] : []),
              ],
              isError,
              details: { diff: text },
            },
          });
        }
        break;
      }
    }
  }
  return lines;
}

/** As Codex writes it: items in envelopes, counts of tokens, a history that replaces the old one. */
export function codexLines(script: Script): readonly Line[] {
  const lines: Line[] = [
    {
      timestamp: time(0),
      type: "session_meta",
      payload: { id: "s", cwd: "/work", model_provider: "openai" },
    },
  ];
  const push = (type: string, payload: Line): void => {
    lines.push({ timestamp: time(lines.length), type, payload });
  };
  const item = (payload: Line): void => push("response_item", payload);
  let turns = 0;
  const user = (text: string): void =>
    item({ type: "message", role: "user", content: [{ type: "input_text", text }] });
  for (const each of script) {
    switch (each.type) {
      case "user":
        turns++;
        user(each.text);
        break;
      case "aside":
        push("turn_context", { model: "gpt-5", cwd: "/work" });
        push("event_msg", { type: "agent_message", message: "aside" });
        user("<environment_context>\n  <cwd>/work</cwd>\n</environment_context>");
        break;
      case "orphan":
        item({ type: "function_call_output", call_id: "lost", output: each.text });
        break;
      case "compaction":
        turns = 0;
        push("compacted", {
          message: each.summary,
          ...(each.kept > 0 && {
            replacement_history: [
              { type: "message", role: "user", content: [{ type: "input_text", text: "the task" }] },
              { type: "message", role: "user", content: [{ type: "input_text", text: each.summary }] },
              ...(each.kept > 1 ? [{ type: "compaction", encrypted_content: "x" }] : []),
            ],
          }),
        });
        break;
      case "rewind":
        push("event_msg", { type: "thread_rolled_back", num_turns: Math.min(turns, each.steps) });
        turns -= Math.min(turns, each.steps);
        break;
      case "assistant": {
        const first = `c${lines.length}`;
        for (const [index, part] of each.blocks.entries()) {
          if (part.type === "text")
            item({ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] });
          else if (part.type === "thinking")
            item({
              type: "reasoning",
              summary: [{ type: "summary_text", text: part.text }],
              encrypted_content: "secret",
            });
          else
            item({
              type: "function_call",
              name: part.tool,
              arguments: JSON.stringify(part.input),
              call_id: `${first}-${index}`,
            });
        }
        push("event_msg", {
          type: "token_count",
          info: {
            last_token_usage: {
              input_tokens: 9,
              cached_input_tokens: 4,
              output_tokens: 2,
              reasoning_output_tokens: 1,
              total_tokens: 11,
            },
          },
        });
        for (const [index, part] of each.blocks.entries()) {
          if (part.type !== "call" || part.result === undefined) continue;
          const { text, hasImage } = part.result;
          const output = hasImage
            ? [
                { type: "input_text", text },
                { type: "input_image", image_url: `data:image/png;base64,${IMAGE}` },
              ]
            : text;
          item({ type: "function_call_output", call_id: `${first}-${index}`, output });
        }
        break;
      }
    }
  }
  return lines;
}

/** As SWE-agent writes it: a history with an observation behind each action, and the same again as steps. */
export function sweAgentRun(script: Script): Line {
  const history: Line[] = [{ role: "system", content: "be good", agent: "main" }];
  const trajectory: Line[] = [];
  for (const [number, each] of script.entries()) {
    if (each.type === "user") history.push({ role: "user", content: each.text, agent: "main" });
    if (each.type === "aside") history.push({ role: "user", content: `demo ${number}`, is_demo: true });
    if (each.type === "orphan")
      history.push({ role: "tool", content: each.text, tool_call_ids: [`lost-${number}`] });
    if (each.type !== "assistant") continue;
    for (const [index, part] of each.blocks.entries()) {
      if (part.type !== "call") {
        history.push({ role: "assistant", content: `${number}/${index} ${part.text}`, agent: "main" });
        continue;
      }
      const action = `${part.tool} ${number} ${index}`;
      const thought = `thinking of ${number}/${index}`;
      const isNamed = index % 2 === 0;
      const id = `call-${number}-${index}`;
      const content = isNamed ? thought : `${thought}\n\`\`\`\n${action}\n\`\`\``;
      const calls = isNamed
        ? {
            tool_calls: [
              { id, type: "function", function: { name: part.tool, arguments: JSON.stringify(part.input) } },
            ],
          }
        : {};
      history.push({ role: "assistant", content, thought, action, agent: "main", ...calls });
      trajectory.push({ action, observation: part.result?.text ?? "", response: content, thought });
      if (part.result === undefined) continue;
      history.push(
        isNamed
          ? { role: "tool", content: part.result.text, tool_call_ids: [id] }
          : { role: "user", content: part.result.text },
      );
    }
  }
  return { environment: "main", trajectory, history, info: { exit_status: "submitted" } };
}

/** As Gemini CLI writes it: a record for each message, calls with their results, records written again. */
export function geminiCliLines(script: Script): readonly Line[] {
  const lines: Line[] = [{ sessionId: "s", projectHash: "h", startTime: time(0), lastUpdated: time(1) }];
  const ids: string[] = [];
  const push = (line: Line): void => {
    const id = `r${lines.length}`;
    ids.push(id);
    lines.push({ id, timestamp: time(lines.length), ...line });
  };
  for (const [number, each] of script.entries()) {
    switch (each.type) {
      case "user":
        push({ type: "user", content: number % 2 === 0 ? each.text : [{ text: each.text }] });
        break;
      case "aside":
        push({ type: "info", content: "an update is there" });
        lines.push({ $set: { lastUpdated: time(number) } });
        break;
      case "rewind":
        lines.push({ $rewindTo: ids.at(-each.steps) ?? "gone" });
        break;
      case "orphan":
      case "compaction":
        lines.push({ $set: { summary: "a title" } });
        break;
      case "assistant": {
        const texts = each.blocks.filter((part) => part.type === "text");
        const first = `g${lines.length}`;
        const record = {
          type: "gemini",
          content: texts.map(({ text }) => text).join(""),
          thoughts: each.blocks
            .filter((part) => part.type === "thinking")
            .map(({ text }) => ({ subject: "so", description: text, timestamp: time(1) })),
          tokens: { input: 9, output: 2, cached: 3, thoughts: 1, tool: 0, total: 12 },
          model: "gemini",
        };
        push(record);
        const last = lines.at(-1);
        lines.push({
          ...last,
          toolCalls: each.blocks.flatMap((part, index) =>
            part.type === "call"
              ? [
                  {
                    id: `${first}-${index}`,
                    name: part.tool,
                    args: part.input,
                    status:
                      part.result === undefined ? "scheduled" : part.result.isError ? "error" : "success",
                    ...(part.result && {
                      result: [
                        {
                          functionResponse: {
                            id: `${first}-${index}`,
                            name: part.tool,
                            response: part.result.isError
                              ? { error: part.result.text }
                              : { output: part.result.text },
                          },
                        },
                      ],
                      resultDisplay: part.result.text,
                    }),
                  },
                ]
              : [],
          ),
        });
        break;
      }
    }
  }
  return lines;
}
