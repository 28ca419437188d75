import { expect } from "vitest";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { SHORT_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { HostRig } from "../harness/host-rig.ts";
import type { Rig } from "../harness/rig.ts";
import { describeHosts, scenario } from "../harness/scenario.ts";
import { childrenOf, firstChildRequest, textOf, waitForDeliveries } from "./fork-support.ts";
import { longPrompt, messagesOf } from "./window-support.ts";

const ROOMY = { inputTokens: 1_000, outputTokens: 10 };
const FULL = { inputTokens: 5_990, outputTokens: 10 };
const FIRST = "The port is 4711, the bridge is closed. #pin";
const SECOND = "Never write to `vendor/`;\n  not even tests. #pin";
const OPTION = "Ask before you push to main.";

scenario(
  "pins outlive every compaction",
  {
    plugin: {},
    files: { "RULES.md": "One function, one job.\nNo dead code.\n" },
    proves:
      "three compactions by a summarizer that ignores pins: each is asked for them, every request after it has each once, word for word, also after a restart and with fork.profile documented",
  },
  async (rig) => {
    const id = await rig.newSession();
    await turn(rig, id, FIRST);
    await compactedTurn(rig, id, "Look around.", "SUMMARY-ONE");
    expectPins(rig, id, [FIRST]);
    await turn(rig, id, SECOND);
    await compactedTurn(rig, id, "Look again.", "SUMMARY-TWO");
    expectPins(rig, id, [FIRST, SECOND]);
    await compactedTurn(rig, id, "Once more.", "SUMMARY-THREE");
    expectPins(rig, id, [FIRST, SECOND]);
    const before = messagesOf(lastRequest(rig, id));
    await turn(rig, id, "Go on.");
    expect(messagesOf(lastRequest(rig, id)).slice(0, before.length)).toEqual(before);

    await rig.kill9();
    await rig.restart();
    await turn(rig, id, "And now?");
    expect(messagesOf(lastRequest(rig, id)).slice(0, before.length)).toEqual(before);
    expectPins(rig, id, [FIRST, SECOND]);

    await compactedTurn(rig, id, "Say nothing.", "");
    expectPins(rig, id, [FIRST, SECOND]);
    await compactedTurn(rig, id, "Keep them.", `SUMMARY-FOUR\n- ${FIRST}\n- ${SECOND}`);
    expectPins(rig, id, [FIRST, SECOND]);

    await rig.restart({
      plugin: { pin: [OPTION, "RULES.md"], fork: { profile: "documented" } },
      why: "pins by option need the option, and the profile of forks must leave them alone",
      twin: "pins outlive every compaction",
    });
    await compactedTurn(rig, id, "Last one.", "SUMMARY-FIVE");
    expectPins(rig, id, [FIRST, SECOND, OPTION, "One function, one job.\nNo dead code."]);
    rig.model.script([say("The report.", { family: "child", usage: ROOMY })]);
    await turn(rig, id, "Fork.", [
      call("fork", { prompt: "Which port?" }, { usage: ROOMY }),
      say("Forked.", { usage: ROOMY }),
      say("Good.", { contains: "The report.", usage: ROOMY }),
    ]);
    await waitForDeliveries(rig, id, 1);
    const child = textOf(await firstChildRequest(rig, id));
    expect(child).toContain("<inherited_context>");
    expect(child).toContain("SUMMARY-FIVE");
    expect(await childrenOf(rig, id)).toHaveLength(1);
  },
);

describeHosts("pins", (host) => {
  host.scenario(
    "what was marked stays in the window after compactions that a person asks for",
    { plugin: {}, proves: "two compactions by a summarizer that ignores pins, and a restart: each pin once" },
    async (rig) => {
      const id = await rig.newSession();
      const once = (pins: readonly string[]): void => {
        const sent = saidIn(lastRequest(rig, id));
        for (const pin of pins) expect(sent.split(pin).length - 1, pin).toBe(1);
      };
      const talk = async (text: string): Promise<void> => rig.turn(id, text, [say("Yes.", { usage: ROOMY })]);
      const compact = async (summary: string): Promise<void> => {
        // More than the hosts keep of the newest turns.
        for (const turn of [1, 2, 3, 4]) await talk(longPrompt(`Turn ${turn} before ${summary}.`));
        rig.model.script([
          say(`## Objective\n- ${summary}`, { lane: "summary", sessionId: id, usage: ROOMY }),
        ]);
        await rig.compact(id);
      };
      await talk(FIRST);
      await compact("SUMMARY-ONE");
      await talk("Go on.");
      expect(saidIn(lastRequest(rig, id))).toContain("SUMMARY-ONE");
      once([FIRST]);
      await talk(SECOND);
      await compact("SUMMARY-TWO");
      await rig.kill9();
      await rig.restart();
      await talk("And now?");
      once([FIRST, SECOND]);
    },
  );
});

const lastRequest = (rig: HostRig, id: string) => rig.requests({ sessionId: id }).at(-1);

function turn(rig: Rig, id: string, text: string, steps = [say("Yes.", { usage: ROOMY })]): Promise<void> {
  return rig.turn(id, { text, model: SHORT_WINDOW }, steps);
}

/** A turn that fills the window, and what the summarizer then says. */
async function compactedTurn(rig: Rig, id: string, text: string, summary: string): Promise<void> {
  await turn(rig, id, text, [
    say("Full.", { usage: FULL }),
    say(summary, { lane: "summary", usage: ROOMY }),
    say("Nothing is left.", { usage: ROOMY }),
  ]);
}

/** The newest summary was asked for each pin, and what was sent last has each once. */
function expectPins(rig: Rig, id: string, pins: readonly string[]): void {
  const asked = saidIn(rig.requests({ sessionId: id, lane: "summary" }).at(-1));
  const sent = saidIn(lastRequest(rig, id));
  for (const pin of pins) {
    expect(asked).toContain(pin);
    expect(sent.split(pin), `${pin} in ${sent}`).toHaveLength(2);
  }
}

/** The texts of a request without the system's. */
function saidIn(request: ModelRequest | undefined): string {
  return messagesOf(request)
    .map((message) => {
      const { content } = message as { readonly content: unknown };
      const texts = Array.isArray(content) ? content.map(({ text }) => text) : [content];
      return texts.join("\n");
    })
    .join("\n");
}
