import type { Journey } from "./journey.ts";
import { loadPlugin, type Message } from "./scripted-host.ts";

/** The agent forks; the child sees the parent's conversation, reports, and the result reaches the idle parent. */
export const travel: Journey = async ({ recordFunctions }) => {
  const host = await loadPlugin();
  const parent = host.messages.get("ses_parent") ?? [];
  parent.push(userMessage("msg_0", "ses_parent", "The cat is grey. Fork it."));
  await host.hook("experimental.chat.messages.transform", {}, { messages: [...parent] });
  const journey = await recordFunctions(import.meta.url, async () => {
    await host.callTool("fork", { prompt: "Look for the cat." });
    await host.until(() => host.sent.some(({ sessionId }) => sessionId === "ses_child1"));
    const child = host.messages.get("ses_child1") ?? [];
    const view = [...child];
    await host.hook("experimental.chat.messages.transform", {}, { messages: view });
    if (view.length <= child.length) throw new Error("the child inherited nothing");
    child.push(report(String(child.at(-1)?.info.id)));
    await host.hook("event", { event: { type: "session.idle", properties: { sessionID: "ses_child1" } } });
    await host.until(() => host.sent.some(({ sessionId }) => sessionId === "ses_parent"));
  });
  await host.close();
  return [journey];
};

function userMessage(id: string, sessionID: string, text: string): Message {
  const info = {
    id,
    sessionID,
    role: "user",
    agent: "build",
    model: { providerID: "p", modelID: "m" },
    time: { created: 1 },
  };
  return { info, parts: [{ id: `${id}p`, type: "text", text }] };
}

function report(parentID: string): Message {
  const info = {
    id: "msg_report",
    sessionID: "ses_child1",
    parentID,
    role: "assistant",
    providerID: "p",
    modelID: "m",
    finish: "stop",
    time: { created: 2, completed: 3 },
    tokens: { input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 } },
    cost: 0.01,
  };
  return { info, parts: [{ id: "prt_report", type: "text", text: "The cat is on the roof." }] };
}
