import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/**
 * What OpenCode 2 gives to `setup`; only what we use is named. What is optional is not there in every version: it is looked
 * for, and no version number is read. "Snapshot" is the public branch `v2` at 3edcb3c, in which all of this was run; "GA" is
 * the released program, known from its documentation and types only.
 */
export interface SetupContext {
  readonly options?: unknown;
  readonly agent: { list(): Promise<unknown> };
  readonly session: HostSessionCalls;
  readonly tool: {
    transform(change: (draft: { add(tool: unknown): void }) => void): Promise<unknown>;
    hook(name: string, run: (event: never) => Promise<void>): Promise<unknown>;
  };
  readonly event: { subscribe(): AsyncIterable<unknown> };
  readonly command?: { transform(change: (draft: CommandDraft) => void): Promise<unknown> };
  /** GA. */
  readonly location?: unknown;
  /** Snapshot. */
  readonly catalog?: { readonly model?: { list(): Promise<unknown> } };
  /** GA, in the place of `catalog.model`. */
  readonly model?: { list(): Promise<unknown> };
  /** GA. */
  readonly permission?: { reply?(reply: unknown): Promise<unknown> };
}

interface HostSessionCalls {
  hook(name: string, run: (event: never) => Promise<void>): Promise<unknown>;
  create(session: unknown): Promise<unknown>;
  get(session: { readonly sessionID: string }): Promise<unknown>;
  prompt(prompt: unknown): Promise<unknown>;
  synthetic(message: unknown): Promise<unknown>;
  interrupt(session: { readonly sessionID: string }): Promise<unknown>;
  wait(session: { readonly sessionID: string }): Promise<unknown>;
  generate(request: { readonly sessionID: string; readonly prompt: string }): Promise<unknown>;
}

/** Snapshot: a command is a template. GA: it runs code, and `update` is gone. */
interface CommandDraft {
  update?(name: string, change: (command: { description?: string; template?: string }) => void): void;
  add?(command: {
    readonly name: string;
    readonly description: string;
    execute(call: unknown): Promise<void>;
  }): void;
}

/** The context where it is that of OpenCode 2; 1.18 calls `setup` too, with a small one. */
export function asSetupContext(given: unknown): SetupContext | undefined {
  const context = asObject(given);
  const isWhole =
    typeof asObject(context.session).hook === "function" &&
    typeof asObject(context.tool).hook === "function" &&
    typeof asObject(context.event).subscribe === "function";
  return isWhole ? (given as SetupContext) : undefined;
}

/** The folder that this instance of the plugin works in. GA names it; in the snapshot it stands beside the list of agents. */
export async function directoryOf({ location, agent }: SetupContext): Promise<string> {
  const named = asString(asObject(location).directory);
  if (named !== undefined) return named;
  const listed = asObject(asObject(await agent.list()).location);
  return asString(listed.directory) ?? process.cwd();
}

/** What a call lists: the list itself, or one under `data`. */
export function listedIn(answer: unknown): readonly UnknownObject[] {
  return asArray(Array.isArray(answer) ? answer : asObject(answer).data).map(asObject);
}

/** The models that the host knows. */
export async function listModels({ model, catalog }: SetupContext): Promise<readonly UnknownObject[]> {
  const list = model?.list ?? catalog?.model?.list;
  return list === undefined ? [] : listedIn(await list());
}

/** Adds a command whose text goes to the model as a message of the user. */
export async function addCommand({ command, session }: SetupContext, added: AddedCommand): Promise<void> {
  const { name, description, template } = added;
  await command?.transform((draft) => {
    if (draft.update !== undefined)
      return draft.update(name, (known) => {
        known.description = description;
        known.template = template;
      });
    draft.add?.({
      name,
      description,
      async execute(call) {
        const { sessionID, arguments: given } = asObject(call);
        const text = template.replace("$ARGUMENTS", () => asString(given) ?? "");
        await session.prompt({ sessionID, text });
      },
    });
  });
}

interface AddedCommand {
  readonly name: string;
  readonly description: string;
  readonly template: string;
}
