import { patchedFiles } from "../../agents/opencode/patched-files.ts";
import type { HostTools } from "../../plugin/host/agent-host.ts";
import { asObject, asString } from "../../text/unknown-value.ts";

/** What OpenCode's tools mean. */
export const opencodeTools: HostTools = {
  forbiddenToForks: new Map([
    ["question", "question"],
    ["task", "subagent"],
  ]),
  writtenFiles(tool, input) {
    const { filePath, path, patchText } = asObject(input);
    if (WRITING_TOOLS.has(tool)) {
      const file = asString(filePath) ?? asString(path);
      return file === undefined ? [] : [file];
    }
    return tool === "apply_patch" || tool === "patch" ? patchedFiles(patchText) : [];
  },
};

const WRITING_TOOLS: ReadonlySet<string> = new Set(["write", "edit", "multiedit"]);
