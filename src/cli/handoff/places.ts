import { join } from "node:path";
import type { HandoffTarget } from "../../handoff/tool-calls.ts";
import { openCodeId } from "../../handoff/writers/opencode.ts";
import { claudeCode } from "../../hosts/claude-code/claude-code.ts";
import { codex } from "../../hosts/codex/codex.ts";
import { piHome } from "../sessions/agent-folders.ts";
import { handoffFolder } from "../sessions/notes.ts";

/** Where an agent looks for a session, and what makes it go on with it. */
export interface HandoffPlace {
  readonly path: string;
  /** Each command with its arguments, in order; the last one is the conversation. */
  readonly commands: readonly (readonly [string, ...string[]])[];
}

export interface NewSession {
  readonly id: string;
  readonly cwd: string;
  readonly at: number;
  /** The program of OpenCode, where that goes on. */
  readonly program: string | undefined;
}

/** The place of a new session in an agent's own folders, and the commands that resume it there. */
export function placeOf(target: HandoffTarget, session: NewSession, env: NodeJS.ProcessEnv): HandoffPlace {
  return PLACES[target](session, env);
}

const PLACES: Readonly<Record<HandoffTarget, (session: NewSession, env: NodeJS.ProcessEnv) => HandoffPlace>> =
  {
    "claude-code": ({ id, cwd, at }, env) => ({
      path: claudeCode.child.sessionFile({ id, atMs: at }, { directory: cwd, env }),
      commands: [["claude", "--resume", id]],
    }),
    codex: ({ id, cwd, at }, env) => ({
      path: codex.child.sessionFile({ id, atMs: at }, { directory: cwd, env }),
      commands: [["codex", "resume", id]],
    }),
    pi: ({ id, cwd, at }, env) => {
      const folder = `--${cwd.replace(/^\//, "").replace(/[/\\:]/g, "-")}--`;
      const name = `${new Date(at).toISOString().replace(/[:.]/g, "-")}_${id}.jsonl`;
      const path = join(piHome(env), "sessions", folder, name);
      return { path, commands: [["pi", "--session", path]] };
    },
    opencode: openCodePlace,
    opencode2: openCodePlace,
  };

/** OpenCode keeps sessions in a database: what it imports lies in a folder of ours. */
function openCodePlace({ id, program = "opencode" }: NewSession, env: NodeJS.ProcessEnv): HandoffPlace {
  const path = join(handoffFolder(env), `${id}.json`);
  return {
    path,
    commands: [
      [program, "import", path],
      [program, "--session", openCodeId("ses", id)],
    ],
  };
}
