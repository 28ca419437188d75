/** An agent that runs hooks, as the installation sees it. */
export interface HookProgram {
  readonly name: "claude-code" | "codex";
  readonly title: string;
  /** What it is called on the PATH, and the variable that names it where it is not there. */
  readonly command: string;
  readonly variable: string;
  /** Its own verbs for a plugin. */
  readonly addVerb: string;
  readonly removeVerb: string;
  /** What its commands write, line by line. */
  written(place: InstallPlace): readonly string[];
  /** Runs the commands; afterwards the user's settings are what they were, byte for byte, but for what is ours. */
  keepSettings(place: InstallPlace, what: "install" | "uninstall", run: () => Promise<void>): Promise<void>;
  /** Unset where hooks need no trust. */
  readonly trust?: HookTrust;
  /** What a person does next. */
  next(done: { readonly isTrusted: boolean }): readonly string[];
}

export interface HookTrust {
  written(place: InstallPlace): readonly string[];
  write(place: InstallPlace): Promise<void>;
  remove(place: InstallPlace): Promise<void>;
}

export interface InstallPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the plugin folder is kept for this agent. */
  readonly folder: string;
  /** The agent's program. */
  readonly program: string;
}
