import { expect } from "vitest";
import { LIMIT_REASON } from "../../../src/fork/life/child-rules.ts";
import { call, callAll, type ScriptedCall, type Step, say } from "../../rig/model-server/step.ts";
import { DEAR_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { HostRig } from "../harness/host-rig.ts";
import { describeHosts } from "../harness/scenario.ts";
import { deliveriesOf, requestWith, textOf, waitForDeliveries } from "./fork-support.ts";

const costs = (usd: number) => ({ usage: { inputTokens: Math.round(usd * 1_000) - 1, outputTokens: 1 } });
const CHEAP = costs(0.001);

/** A call that is like no other, and quick. */
const look = ({ tools }: HostRig, limit: number): ScriptedCall => {
  const { tool, input } = tools.read("README.md");
  return { tool, input: { ...(input as object), limit } };
};
const looks = (rig: HostRig, count: number): readonly ScriptedCall[] =>
  Array.from({ length: count }, (_, index) => look(rig, index + 1));

describeHosts("limits", (host) => {
  const defaults = host.shareRig({ plugin: {} });

  host.scenario(
    "of 203 calls at once 200 are made, and a child that goes on calling is ended with its last text",
    {
      shared: defaults,
      proves: "the 201st parallel call is refused; after the request for the report there is none",
    },
    async (rig) => {
      const [child, repeating] = await forkAll(rig, {
        "Look often.": [
          callAll(looks(rig, 203), { text: "A first thought.", ...CHEAP }),
          callAll(looks(rig, 2), { times: "always", ...CHEAP }),
        ],
        "Repeat.": [
          callAll(Array(7).fill(look(rig, 1)), CHEAP),
          say("I had repeated myself.", { contains: LIMIT_REASON["repeated-call"], ...CHEAP }),
        ],
      });
      expect([repeating?.requests.length, repeating?.callsMade]).toEqual([2, 5]);
      expect(repeating?.results).toContain("I had repeated myself.");
      expect(child?.requests).toHaveLength(2);
      expect(child?.callsMade).toBe(200);
      expect(child?.requests[1]).toContain(LIMIT_REASON["tool-calls"]);
      expect(child?.results).toContain('state=\\"failed\\"');
      expect(child?.results).toContain('calls=\\"200\\"');
      expect(child?.results).toContain("A first thought.");
    },
  );

  host.scenario(
    "a fork that has spent two dollars makes one more request, for its report; ten dollars are the end for all",
    {
      shared: defaults,
      proves: "what was spent is known before the next request, of a fork and of its root",
    },
    async (rig) => {
      const id = await rig.newSession();
      const [child] = await forkAll(
        rig,
        {
          "Spend two.": [
            say("As far as the money went.", { contains: LIMIT_REASON["fork-cost"], ...costs(0.7) }),
            ...[1, 2, 3].map((number) => callAll([look(rig, number)], costs(0.7))),
          ],
        },
        id,
      );
      expect(child?.requests).toHaveLength(4);
      expect(child?.callsMade).toBe(3);
      expect(child?.results).toContain('state=\\"completed\\"');
      expect(child?.results).toContain('cost=\\"$2.80\\"');

      const dear = ["1", "2", "3", "4"].map((name) => [`Dear ${name}.`, [say("Done.", costs(1.75))]]);
      const spent = await forkAll(rig, Object.fromEntries(dear), id);
      expect(spent.map(({ requests }) => requests.length)).toEqual([1, 1, 1, 1]);
      const [last] = await forkAll(
        rig,
        {
          "The rest.": [
            say("What ten dollars gave.", { contains: LIMIT_REASON["root-cost"], ...CHEAP }),
            callAll([look(rig, 9)], costs(0.3)),
          ],
        },
        id,
      );
      expect(last?.requests).toHaveLength(2);
      expect(last?.results).toContain("What ten dollars gave.");
      rig.model.discardSteps();
      await rig.turn(id, { text: "Fork again.", model: DEAR_WINDOW }, [
        call("fork", { prompt: "More." }, CHEAP),
        say("No.", CHEAP),
      ]);
      expect(textOf(requestWith(rig, id, "have spent $10"))).toContain("Do it yourself.");
    },
  );

  host.scenario(
    "children that ignore every limit make four calls, or spend their cents, and one request more",
    {
      plugin: { fork: { maxToolCalls: 4, forkUSD: 0.02 } },
      why: "these are the figures at which a child once made 339 calls for $2.19",
      twin: "of 203 calls at once 200 are made, and a child that goes on calling is ended with its last text",
      proves: "the fifth of six parallel calls is refused; so is a tool that does not exist",
    },
    async (rig) => {
      const [calls, money, unknown] = await forkAll(rig, {
        "Call on.": [callAll(looks(rig, 6), { times: "always", ...CHEAP })],
        "Spend on.": [callAll(looks(rig, 1), { times: "always", ...costs(0.014) })],
        "Call nothing.": [
          callAll(looks(rig, 4), { text: "Four looks.", ...CHEAP }),
          call("no_such_tool", {}, { times: "always", ...CHEAP }),
        ],
      });
      expect([calls?.requests.length, calls?.callsMade]).toEqual([2, 4]);
      expect([money?.requests.length, money?.callsMade]).toEqual([3, 2]);
      expect([unknown?.requests.length, unknown?.callsMade]).toEqual([2, 4]);
      expect(calls?.results).toContain('calls=\\"4\\"');
      expect(money?.results).toContain('calls=\\"2\\" cost=\\"$0.04\\"');
      expect(unknown?.results).toContain("Four looks.");
      expect(calls?.results.split('state=\\"failed\\"')).toHaveLength(4);
    },
  );
});

interface Child {
  readonly requests: readonly string[];
  /** Calls that were really made. */
  readonly callsMade: number;
  /** What the parent was given. */
  readonly results: string;
}

/** Forks once for each task, with what the model says to it, and waits for all results. */
async function forkAll(
  rig: HostRig,
  tasks: Readonly<Record<string, readonly Step[]>>,
  sessionId?: string,
): Promise<readonly Child[]> {
  const id = sessionId ?? (await rig.newSession());
  rig.model.discardSteps();
  const before = (await deliveriesOf(rig, id)).length;
  for (const [prompt, steps] of Object.entries(tasks)) {
    // What a step looks for comes after its task: a request that is told of a limit holds both.
    const named = steps.map((step) => ({
      ...step,
      family: "child" as const,
      contains: step.contains ?? prompt,
    }));
    rig.model.script(named);
  }
  const forks = Object.keys(tasks).map((prompt) => ({ tool: "fork", input: { prompt, title: prompt } }));
  const asked = rig.requests({ sessionId: id }).length;
  await rig.turn(id, { text: `Fork ${forks.length}.`, model: DEAR_WINDOW }, [
    callAll(forks, CHEAP),
    say("Forked.", CHEAP),
    say("Seen.", { times: "always", ...CHEAP }),
  ]);
  await waitForDeliveries(rig, id, before + forks.length);
  const results = rig.requests({ sessionId: id }).slice(asked).map(textOf).at(-1) ?? "";
  const sessions = await rig.children(id);
  return Promise.all(
    Object.keys(tasks).map(async (prompt) => {
      const child = sessions.find(({ title }) => title.endsWith(`: ${prompt}`))?.id ?? "";
      const parts = (await rig.transcript(child)).flatMap((message) => message.parts);
      const done = parts.filter(
        (part) => part.type === "tool" && part.tool === "read" && part.outcome.status === "done",
      );
      return {
        requests: rig.requests({ sessionId: child }).map(textOf),
        callsMade: done.length,
        results,
      };
    }),
  );
}
