import { asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/**
 * The part of the plugin that runs in OpenCode's terminal: `/forks` lists the forks of the conversation on the screen and
 * leads to the one that is chosen, and a permission dialog says which fork asks. Neither costs a turn of the model.
 */
export async function createTui(api: TuiApi): Promise<void> {
  const command = {
    name: "carryover.forks",
    title: "Forks",
    desc: "List the forks of this conversation and go to one",
    category: "Carryover",
    namespace: "palette",
    slashName: "forks",
    run: () =>
      void showForks(api).catch((cause: unknown) =>
        showMessage(api, `The forks could not be listed: ${cause}`),
      ),
  };
  api.keymap.registerLayer({ commands: [command] });
}

/** What OpenCode gives to the part of a plugin that runs in its terminal; only what we use is named. */
export interface TuiApi {
  readonly keymap: { registerLayer(layer: UnknownObject): unknown };
  readonly route: {
    readonly current: { readonly name: string; readonly params?: UnknownObject };
    navigate(name: string, params: UnknownObject): void;
  };
  readonly ui: {
    DialogSelect(props: UnknownObject): unknown;
    toast(toast: {
      readonly title: string;
      readonly message: string;
      readonly variant: "info" | "warning";
    }): void;
    readonly dialog: {
      replace(render: () => unknown): void;
      setSize(size: "medium" | "large" | "xlarge"): void;
      clear(): void;
    };
  };
  readonly state: { readonly session: { status(sessionId: string): unknown } };
  readonly client: {
    readonly session: {
      get(question: { readonly sessionID: string }): Promise<Answer>;
      children(question: { readonly sessionID: string }): Promise<Answer>;
      messages(question: { readonly sessionID: string }): Promise<Answer>;
    };
  };
}

interface Answer {
  readonly data?: unknown;
}

function showMessage(api: TuiApi, message: string): void {
  api.ui.toast({ title: "Carryover", message, variant: "info" });
}

async function showForks(api: TuiApi): Promise<void> {
  const { name, params } = api.route.current;
  const sessionId = name === "session" ? asString(params?.sessionID) : undefined;
  if (sessionId === undefined) return showMessage(api, "Forks belong to a conversation: open one first.");
  const { data } = await api.client.session.get({ sessionID: sessionId });
  const rootId = asString(asObject(data).parentID) ?? sessionId;
  const [children, messages] = await Promise.all([
    api.client.session.children({ sessionID: rootId }),
    api.client.session.messages({ sessionID: rootId }),
  ]);
  const forks = listForks({
    children: listOf(children),
    messages: listOf(messages),
    statusOf: (id) => asString(asObject(api.state.session.status(id)).type),
  });
  if (forks.length === 0) return showMessage(api, "This conversation has no forks.");
  const back = { title: "Back to the conversation", value: rootId };
  const options = [
    ...(sessionId === rootId ? [] : [back]),
    ...forks.map(({ sessionId: value, title, text, cost }) => ({
      title,
      description: text,
      footer: cost,
      value,
    })),
  ];
  const select = {
    title: "Forks of this conversation",
    options,
    current: sessionId,
    onSelect({ value }: { readonly value: string }) {
      api.ui.dialog.clear();
      api.route.navigate("session", { sessionID: value });
    },
  };
  api.ui.dialog.replace(() => api.ui.DialogSelect(select));
  // A new dialog has the middle size, in which a title of 60 characters leaves no room for the rest.
  api.ui.dialog.setSize("large");
}

function listOf({ data }: Answer): readonly UnknownObject[] {
  return Array.isArray(data) ? data.map(asObject) : [];
}

/** The forks among the children of a session, oldest first, with what the conversation shows of each. */
export function listForks({ children, messages, statusOf }: ForkSources): readonly ListedFork[] {
  const lines = new Map(messages.flatMap(shownLines));
  return children
    .flatMap((child) => {
      const note = asObject(asObject(child.metadata).carryover);
      const sessionId = asString(child.id);
      if (sessionId === undefined || asString(note.id) === undefined) return [];
      const number = asNumber(note.number) ?? 0;
      const title = (asString(child.title) ?? "").replace(/^Fork \d+: /, "");
      const status = statusOf(sessionId);
      const plain = status === undefined || status === "idle" ? "ended" : "running";
      const cost = `$${(asNumber(child.cost) ?? 0).toFixed(2)}`;
      // OpenCode cuts what has no room: the cost has a place of its own.
      const text =
        lines
          .get(sessionId)
          ?.replace(`${title} · `, "")
          .replace(/ · \$\d+\.\d\d/, "") ?? plain;
      return [{ sessionId, number, title: `#${number} ${title}`, text, cost }];
    })
    .toSorted((a, b) => a.number - b.number);
}

interface ForkSources {
  readonly children: readonly UnknownObject[];
  readonly messages: readonly UnknownObject[];
  /** What a session is doing, as the terminal knows it. */
  readonly statusOf: (sessionId: string) => string | undefined;
}

interface ListedFork {
  readonly sessionId: string;
  readonly number: number;
  readonly title: string;
  readonly text: string;
  readonly cost: string;
}

/** The lines about forks in a message, by the session of the child. */
function shownLines({ parts }: UnknownObject): readonly (readonly [string, string])[] {
  return (Array.isArray(parts) ? parts : []).flatMap((part) => {
    const { metadata, state } = asObject(part);
    const { input, metadata: facts, status } = asObject(state);
    const sessionId = asString(asObject(facts).sessionId);
    const text = asString(asObject(input).description);
    const isShown = asObject(asObject(metadata).carryover).shown !== undefined;
    if (!isShown || sessionId === undefined || text === undefined) return [];
    return [[sessionId, status === "running" ? `running · ${text}` : text] as const];
  });
}
