import { describe, expect } from "vitest";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { ANTHROPIC_WINDOW, LONG_WINDOW, SHORT_WINDOW } from "../../rig/opencode/sandbox.ts";
import { sharedPrefix, toolNamesOf } from "../../rig/opencode/shared-prefix.ts";
import type { HostRig } from "../harness/host-rig.ts";
import type { Rig } from "../harness/rig.ts";
import { describeHosts, scenario, shareRig } from "../harness/scenario.ts";
import { childrenOf, firstChildRequest, requestWith, textOf } from "./fork-support.ts";

const LONG_TEXT = Array.from({ length: 400 }, (_, line) => `line ${line} of the long file`).join("\n");
/** So that the host compacts only when told to. */
const FEW = { inputTokens: 1_000, outputTokens: 10 };
const FILES = { "long.txt": `${LONG_TEXT}\n`, "notes.txt": "The cat is grey.\n" };

/** A session whose host has compacted it: the dog is behind the summary, the cat is in the tail. */
async function compactedSession(rig: Rig): Promise<string> {
  const id = await rig.newSession();
  await rig.turn(id, "The dog is brown.", [say("Noted: brown.", { usage: FEW })]);
  await rig.turn(id, { text: "What colour is the cat?", model: SHORT_WINDOW }, [
    call(
      "bash",
      { command: "cat notes.txt", description: "Read" },
      { usage: { inputTokens: 5_000, outputTokens: 10 } },
    ),
    say("The cat is grey.", { usage: { inputTokens: 5_990, outputTokens: 20 } }),
    say("## Objective\n- SUMMARY-OF-ALL", { lane: "summary", usage: FEW }),
    say("Nothing is left to do.", { usage: FEW }),
  ]);
  return id;
}

describeHosts("a fork that is not exact", (host) => {
  const shared = host.shareRig({
    plugin: { fork: { inherit: "trimmed", budgetChars: 40_000 } },
    why: "a short conversation is inherited exactly by default, and fits the default budget",
    twin: "a parent that is larger than half of the window forks trimmed by itself",
    files: FILES,
  });

  host.scenario(
    "a trimmed fork gets real messages, old outputs cut, the same for all siblings",
    {
      shared,
      proves: "tool messages on the wire, what is newer replaces what is older, siblings byte for byte alike",
    },
    async (rig) => {
      const id = await rig.newSession();
      await readManyTimes(rig, id, 17);
      rig.model.script([
        say("Report one.", { family: "child", contains: "Task one." }),
        say("Report two.", { family: "child", contains: "Task two." }),
      ]);
      await rig.turn(id, "Fork.", [
        callAll(["one", "two"].map((name) => ({ tool: "fork", input: { prompt: `Task ${name}.` } }))),
        say("Forked."),
      ]);
      const children = await rig.waitFor(() => {
        const found = rig.requests({ parentSessionId: id });
        return found.length === 2 && found;
      }, "two children");
      const [first, second] = children;
      if (first === undefined || second === undefined) throw new Error("No children");
      const messages = first.body.messages as readonly { readonly role: string; readonly content: unknown }[];
      const outputs = messages
        .filter(({ role }) => role === "tool")
        .map(({ content }) => JSON.stringify(content));
      expect(outputs.length).toBeGreaterThanOrEqual(17);
      expect(outputs[0]?.length).toBeLessThan(700);
      expect(outputs.at(-1)).toContain("line 399 of");
      expect(textOf(first)).toContain("replaced by newer ones");
      const shared = sharedPrefix(first, second);
      expect(shared.earlierChars - shared.sharedChars).toBeLessThan(3_000);
    },
  );

  host.scenario(
    "a text fork carries preamble, outputs and errors in one message",
    {
      plugin: { fork: { inherit: "text" } },
      why: "this host has the hook, so the default is another way",
      twin: "a host without the hook",
      files: FILES,
      proves: "preamble, inherited context with outputs and errors, then the task",
    },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Look around.", [
        callAll([rig.tools.run("cat notes.txt")]),
        callAll([rig.tools.read("missing.txt")]),
        say("One is missing."),
      ]);
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, "Fork it.", [call("fork", { prompt: "Check." }), say("Forked.")]);
      const child = await firstChildRequest(rig, id);
      const users = usersOf(child.body.messages);
      expect(users).toHaveLength(2);
      expect(users[0]).toContain("You are working with forked context from a parent agent session.");
      expect(users[0]).toContain("<inherited_context n=");
      expect(users[0]).toContain("The cat is grey.");
      expect(users[0]).toContain("[Tool error]");
      expect(users[0]).not.toContain("[Tool: fork]");
      expect(users[1]).toContain("You are fork 1");
      const parent = requestWith(rig, id, "Fork it.");
      expect(toolNamesOf(child)).toEqual(toolNamesOf(parent));
    },
  );
});

describe("a trimmed fork", () => {
  const shared = shareRig({
    plugin: { fork: { inherit: "trimmed", budgetChars: 40_000 } },
    why: "a short conversation is inherited exactly by default, and fits the default budget",
    twin: "a parent that is larger than half of the window forks trimmed by itself",
    files: FILES,
  });

  scenario(
    "a trimmed fork of a compacted parent begins with a user message and keeps the tail",
    { shared, proves: "summary, retained tail and later messages; valid on Anthropic's wire" },
    async (rig) => {
      const id = await compactedSession(rig);
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, { text: "Fork it.", model: ANTHROPIC_WINDOW }, [
        call("fork", { prompt: "Check." }),
        say("Forked."),
      ]);
      const child = await firstChildRequest(rig, id);
      const messages = child.body.messages as readonly { readonly role: string }[];
      expect(messages[0]?.role).toBe("user");
      expect(textOf(child)).toContain("SUMMARY-OF-ALL");
      expect(textOf(child)).toContain("Compaction summary included");
      expect(textOf(child)).not.toContain("The dog is brown.");
    },
  );
});

describe("a full fork", () => {
  const shared = shareRig({
    plugin: {},
    files: FILES,
    config: { compaction: { prune: true } },
  });

  scenario(
    "a full fork of a compacted parent sees the host's own window",
    { shared, proves: "marker, summary and retained tail as the parent's request has them" },
    async (rig) => {
      const id = await compactedSession(rig);
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, { text: "Fork it.", model: LONG_WINDOW }, [
        call("fork", { prompt: "Check." }),
        say("Forked."),
      ]);
      const child = await firstChildRequest(rig, id);
      const parent = requestWith(rig, id, "Fork it.");
      expect(sharedPrefix(parent, child).share).toBeGreaterThan(0.99);
      expect(textOf(child)).toContain("SUMMARY-OF-ALL");
    },
  );

  scenario(
    "a pruned output stays pruned in a fork, and can be recalled there",
    { shared, proves: "the placeholder is inherited; recall in the child gives the exact original" },
    async (rig) => {
      const id = await rig.newSession();
      await pruneOldOutput(rig, id);
      rig.model.script([
        call("recall", { search: "SECRET-LINE-7 " }, { family: "child" }),
        say("Found.", { family: "child" }),
      ]);
      await rig.turn(id, "Fork it.", [call("fork", { prompt: "Recall." }), say("Forked.")]);
      const child = await firstChildRequest(rig, id);
      expect(textOf(child)).toContain("[Old tool result content cleared]");
      expect(textOf(child)).not.toContain("SECRET-LINE-7 ");
      const found = await rig.waitFor(
        () => rig.requests({ parentSessionId: id })[1],
        "the child's second step",
      );
      const handle = /(msg_\w+\/\d+) line/.exec(textOf(found))?.[1];
      expect(handle).toBeDefined();
      rig.model.script([
        call("recall", { handle, range: "7-9" }, { family: "child" }),
        say("Whole.", { family: "child" }),
      ]);
      const [session] = await childrenOf(rig, id);
      await rig.opencode.prompt(session?.id ?? "", { text: "Once more." });
      const whole = rig.requests({ parentSessionId: id }).at(-1);
      expect(whole && textOf(whole)).toContain(
        "SECRET-LINE-6 of a long output\\nSECRET-LINE-7 of a long output",
      );
    },
  );
});

describe("a text fork", () => {
  scenario(
    "the documented profile sends exactly preamble and context, then the task",
    {
      plugin: { profile: "documented" },
      why: "the profile is the option",
      twin: { none: "the default profile is what every other scenario plays" },
      files: FILES,
      proves: "two user messages, nothing of ours around the task",
    },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Look around.", [
        call("bash", { command: "cat notes.txt", description: "Read" }),
        say("Grey."),
      ]);
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, "Fork it.", [call("fork", { prompt: "Check the colour." }), say("Forked.")]);
      const child = await firstChildRequest(rig, id);
      const users = usersOf(child.body.messages);
      expect(users[0]).toMatch(
        /^You are working with forked context[\s\S]*\n\n<inherited_context>\nUser:\nLook around\.[\s\S]*<\/inherited_context>$/,
      );
      expect(users.slice(1)).toEqual(["Check the colour."]);
    },
  );
});

const TOKEN = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
const AGENTS = {
  agent: {
    near: { description: "Near", mode: "all", prompt: "You are near." },
    far: {
      description: "Far",
      mode: "all",
      model: `${ANTHROPIC_WINDOW.providerID}/${ANTHROPIC_WINDOW.modelID}`,
    },
  },
};

describe("a fork as another agent", () => {
  scenario(
    "another agent gets the context trimmed; one at another provider is refused",
    {
      plugin: {},
      config: AGENTS,
      proves: "the way and its reason; nothing leaves for a provider that was not allowed",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, "Fork twice.", [
        call("fork", { prompt: "Look.", agent: "near" }),
        call("fork", { prompt: "Look.", agent: "far" }),
        say("Forked."),
      ]);
      const text = textOf(requestWith(rig, id, "allowCrossProvider"));
      expect(text).toContain("(trimmed: the child's system prompt is its own");
      const child = await firstChildRequest(rig, id);
      expect(textOf(child)).toContain("You are near.");
      expect(rig.requests({ wire: "anthropic" })).toEqual([]);
    },
  );

  scenario(
    "a fork at another provider, when allowed, gets no secrets",
    {
      plugin: { fork: { allowCrossProvider: true } },
      why: "the default allows no other provider",
      twin: "another agent gets the context trimmed; one at another provider is refused",
      config: AGENTS,
      proves: "the token in the conversation is redacted on the other wire",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, `The token is ${TOKEN}, keep it.`, [say("Kept.")]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look.", agent: "far" }), say("Forked.")]);
      const child = await firstChildRequest(rig, id);
      expect(child.wire).toBe("anthropic");
      expect(JSON.stringify(child.body)).toContain("keep it.");
      expect(JSON.stringify(child.body)).not.toContain(TOKEN);
    },
  );
});

describe("the tools", () => {
  scenario(
    "the definitions of all tools take at most 2,400 characters",
    { plugin: {}, proves: "their JSON as sent, together" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Hello.", [say("Hello.")]);
      const [request] = rig.requests({ sessionId: id });
      const tools = (request?.body.tools ?? []) as readonly {
        readonly function: { readonly name: string };
      }[];
      const ours = tools.filter(({ function: { name } }) =>
        ["fork", "fork_result", "fork_cancel", "recall"].includes(name),
      );
      expect(ours).toHaveLength(4);
      expect(JSON.stringify(ours).length).toBeLessThanOrEqual(2_400);
    },
  );

  scenario(
    "wrong arguments are answered with what is wrong",
    { plugin: {}, proves: "no fork is made, and the model reads why" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Fork.", [
        call("fork", { prompt: 5, agent: "" }),
        call("fork", { prompt: "Go.", agent: "nobody" }),
        call("fork", { prompt: "Go.", resume: "9" }),
        call("fork_cancel", {}),
        call("recall", {}),
        say("I see."),
      ]);
      const last = rig.requests({ sessionId: id }).at(-1);
      const text = last === undefined ? "" : textOf(last);
      expect(text).toContain("Nothing was done. prompt is 5; give a text");
      expect(text).toContain(
        'There is no agent \\"nobody\\". Leave it out for your own, or take one of: explore, general.',
      );
      expect(text).toContain('There is no fork \\"9\\"');
      expect(text).toContain("Give a handle, or a text to search for.");
      expect(await childrenOf(rig, id)).toEqual([]);
    },
  );

  scenario(
    "the command /subtask makes the agent fork",
    { plugin: {}, proves: "the task is in the prompt that the command sends" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        call("fork", { prompt: "Count the cats." }),
        say("Forked."),
        say("Two.", { family: "child" }),
      ]);
      await rig.opencode.call("POST", `/session/${id}/command`, {
        command: "subtask",
        arguments: "Count the cats.",
      });
      const [request] = rig.requests({ sessionId: id });
      expect(request && textOf(request)).toContain("Hand this over with the tool fork");
      expect(request && textOf(request)).toContain("Count the cats.");
      await firstChildRequest(rig, id);
    },
  );
});

async function readManyTimes(rig: HostRig, id: string, times: number): Promise<void> {
  await rig.turn(id, "Read it often.", [
    ...Array.from({ length: times }, () => callAll([rig.tools.run("cat long.txt")])),
    say("Read."),
  ]);
}

/** Makes the host clear the first output of a session. */
async function pruneOldOutput(rig: Rig, id: string): Promise<void> {
  const command = "for i in $(seq 0 1399); do echo SECRET-LINE-$i of a long output; done";
  await rig.turn(id, "Print.", [
    call("bash", { command, description: "Print" }, { usage: FEW }),
    say("Printed.", { usage: FEW }),
  ]);
  const noise = "head -c 45000 /dev/zero | tr '\\0' x";
  for (const turn of ["Second.", "Third.", "Fourth.", "Fifth.", "Sixth."]) {
    await rig.turn(id, turn, [
      call("bash", { command: noise, description: "Noise" }, { usage: FEW }),
      call("bash", { command: noise, description: "Noise" }, { usage: FEW }),
      say("Done.", { usage: FEW }),
    ]);
  }
  await rig.waitFor(async () => {
    const [first] = (await rig.opencode.messages(id))
      .flatMap(({ parts }) => parts)
      .filter((part) => part.type === "tool");
    return (first?.state as { time?: { compacted?: number } } | undefined)?.time?.compacted !== undefined;
  }, "the host's pruning");
}

function usersOf(messages: unknown): readonly string[] {
  return (messages as readonly { readonly role: string; readonly content: unknown }[])
    .filter(({ role }) => role === "user")
    .map(({ content }) =>
      typeof content === "string"
        ? content
        : (content as readonly { readonly text: string }[]).map(({ text }) => text).join("\n"),
    );
}
