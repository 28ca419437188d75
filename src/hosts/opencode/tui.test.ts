import { expect, it } from "vitest";
import { createTui, listForks, type TuiApi } from "./tui.ts";

const child = (id: string, number: number, title: string) => ({
  id,
  title: `Fork ${number}: ${title}`,
  cost: 0.25,
  metadata: { carryover: { id: `fk_${number}`, number } },
});

const line = (sessionId: string, status: string, description: string) => ({
  parts: [
    {
      type: "tool",
      metadata: { carryover: { shown: "fork" } },
      state: { status, input: { description }, metadata: { sessionId } },
    },
  ],
});

it("forks are listed by number, with what the conversation shows of them", () => {
  const forks = listForks({
    children: [
      child("ses_3", 2, "write tests"),
      child("ses_2", 1, "find it"),
      { id: "ses_9", title: "a task" },
    ],
    messages: [line("ses_2", "running", "find it · 3 calls · 8 s · $0.25 · read a.ts")],
    statusOf: (id) => (id === "ses_3" ? "idle" : "busy"),
  });
  expect(forks).toMatchObject([
    { sessionId: "ses_2", title: "#1 find it", text: "running · 3 calls · 8 s · read a.ts", cost: "$0.25" },
    { sessionId: "ses_3", title: "#2 write tests", text: "ended", cost: "$0.25" },
  ]);
});

/** A terminal that shows a session. */
function startTui(sessionId: string | undefined) {
  const seen: unknown[] = [];
  const sizes: string[] = [];
  const layers: { readonly commands: readonly { readonly slashName: string; run(): void }[] }[] = [];
  const api = {
    keymap: { registerLayer: (layer: unknown) => layers.push(layer as (typeof layers)[number]) },
    route: {
      current:
        sessionId === undefined ? { name: "home" } : { name: "session", params: { sessionID: sessionId } },
      navigate: (name: string, params: unknown) => seen.push([name, params]),
    },
    ui: {
      DialogSelect: (props: unknown) => props,
      toast: ({ message }: { readonly message: string }) => seen.push(message),
      dialog: {
        replace: (render: () => unknown) => seen.push(render()),
        setSize: (size: string) => sizes.push(size),
        clear: () => {},
      },
    },
    state: { session: { status: () => ({ type: "busy" }) } },
    client: {
      session: {
        get: async ({ sessionID }: { readonly sessionID: string }) => ({
          data: { id: sessionID, ...(sessionID === "ses_2" && { parentID: "ses_1" }) },
        }),
        children: async () => ({ data: [child("ses_2", 1, "find it")] }),
        messages: async () => ({ data: [] }),
      },
    },
  } as unknown as TuiApi;
  const run = async (): Promise<void> => {
    await createTui(api);
    layers[0]?.commands.find(({ slashName }) => slashName === "forks")?.run();
    await expect.poll(() => seen.length).toBe(1);
  };
  return { seen, sizes, run };
}

interface Dialog {
  readonly options: readonly { readonly title: string; readonly value: string }[];
  onSelect(option: { readonly value: string }): void;
}

it("/forks opens a list, and the chosen one comes to the screen", async () => {
  const { seen, sizes, run } = startTui("ses_1");
  await run();
  expect(sizes).toEqual(["large"]);
  const dialog = seen[0] as Dialog;
  expect(dialog.options).toMatchObject([{ title: "#1 find it", footer: "$0.25", value: "ses_2" }]);
  dialog.onSelect({ value: "ses_2" });
  expect(seen[1]).toEqual(["session", { sessionID: "ses_2" }]);
});

it("in a fork, /forks leads back too", async () => {
  const { seen, run } = startTui("ses_2");
  await run();
  expect((seen[0] as Dialog).options.map(({ value }) => value)).toEqual(["ses_1", "ses_2"]);
});

it("where no conversation is open, /forks says so", async () => {
  const { seen, run } = startTui(undefined);
  await run();
  expect(seen).toEqual(["Forks belong to a conversation: open one first."]);
});
