import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HookAgent } from "../../agents/hooks/hook-agent.ts";
import { folderBeside } from "../../agents/places.ts";
import { claudeCode as format } from "../../formats/files/claude-code/claude-code.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asObject } from "../../text/unknown-value.ts";
import { claudeCodeChild } from "./child.ts";
import { callingSession, exists, newestFiles, projectFolder } from "./session-files.ts";
import { claudeCodeWords } from "./tool-output.ts";

/** Claude Code, as measured on 2.1.325. */
export const claudeCode: HookAgent = {
  ...claudeCodeWords,
  format,
  addedByAgent:
    /^\s*(?:<(?:command-|local-command-|task-notification|system-reminder|bash-)|Caveat: |\[Request interrupted)/,
  windowOf(lines) {
    const boundary = lines.findLastIndex((line) => asObject(line).subtype === "compact_boundary");
    return boundary === -1 ? lines : lines.slice(boundary);
  },
  async findSession(sessionId, place) {
    const folder = projectFolder(place);
    if (sessionId === undefined) {
      const [newest] = await newestFiles(folder);
      return newest && join(folder, newest);
    }
    const direct = join(folder, `${sessionId}.jsonl`);
    if (await exists(direct)) return direct;
    // The session may have begun in another folder.
    const projects = await readdir(dirname(folder)).catch(() => []);
    for (const name of projects) {
      const file = join(dirname(folder), name, `${sessionId}.jsonl`);
      if (await exists(file)) return file;
    }
    return undefined;
  },
  callingSession,
  outputFolder: (file) => join(folderBeside(file), "tool-results"),
  readLine: hookTextAsMessage,
  // Only `claude -p` ends with its turn.
  isAttended: ({ CLAUDE_CODE_ENTRYPOINT }) => CLAUDE_CODE_ENTRYPOINT !== "sdk-cli",
  child: claudeCodeChild,
};

/** What a hook of ours has brought of forks is a line of its own, which is no message. */
function hookTextAsMessage(line: object): object {
  const { type: kind, attachment } = asObject(line);
  const { type, content } = asObject(attachment);
  if (kind !== "attachment" || type !== "hook_additional_context") return line;
  const text = asArray(content).map(textOrJson).join("\n");
  if (!text.includes("<fork_result delivery=")) return line;
  const shown = `<system-reminder>\n${text}\n</system-reminder>`;
  return { ...line, type: "user", message: { role: "user", content: shown } };
}
