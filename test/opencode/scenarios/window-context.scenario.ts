import { describe, expect } from "vitest";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { SHORT_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario, shareRig } from "../harness/scenario.ts";

const LINES = Array.from({ length: 6_000 }, (_, index) => `${index} a line of the long report`).join("\n");

const shared = shareRig({
  plugin: {},
  files: { "long.txt": `${LINES}\n`, "short.txt": "short\n", "a.ts": "export const a = 1;\n" },
});

describe("tool outputs in the window", () => {
  scenario(
    "a long output keeps head and tail",
    { shared, proves: "cut again from the host's own file, kept under a handle, and recalled line by line" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Show the report.", [
        call("bash", { command: "cat long.txt", description: "Show" }),
        say("Seen."),
      ]);
      const shown = toolTexts(rig.requests({ sessionId: id }).at(-1)).at(-1) ?? "";
      expect(shown).toContain("0 a line of the long report");
      expect(shown).toContain("5999 a line of the long report");
      expect(shown).not.toContain("3000 a line of the long report");
      const handle = /handle(?: and sha256)? (\w{16,})/.exec(shown)?.[1] ?? "";
      expect(handle).not.toBe("");

      await rig.turn(id, "What is in the middle?", [
        call("recall", { handle, range: "3001-3002" }),
        call("recall", { search: "4321 a line" }),
        say("Seen."),
      ]);
      const [byHandle, bySearch] = toolTexts(rig.requests({ sessionId: id }).at(-1)).slice(-2);
      expect(byHandle).toBe("3000 a line of the long report\n3001 a line of the long report\n");
      expect(bySearch).toContain("4321 a line of the long report");
    },
  );

  scenario(
    "a short output is left alone",
    { shared, proves: "what fits arrives byte for byte" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Show it.", [
        call("bash", { command: "cat short.txt", description: "Show" }),
        say("Seen."),
      ]);
      expect(toolTexts(rig.requests({ sessionId: id }).at(-1))).toEqual(["short\n"]);
    },
  );
});

describe("what a summary must not lose", () => {
  scenario(
    "the summary's request with default options",
    { shared, proves: "a message with #pin is named in the request; the host's own prompt stays" },
    async (rig) => {
      const body = await summaryRequest(rig);
      expect(body).toContain("## Objective");
      expect(body.split("#pin the port is 4711.").length - 1).toBe(2);
      expect(body).not.toContain("<user_words>");
    },
  );

  for (const compaction of ["host", "host-with-facts", "off"] as const) {
    scenario(
      `the summary's request with compaction "${compaction}"`,
      {
        plugin: { compaction, pin: ["RULES.md", "the build is green on Tuesdays"] },
        why: "each value of the option is shown, with pins of the option beside it",
        twin: "the summary's request with default options",
        files: { "RULES.md": "Never touch the vendor folder.\n", "a.ts": "export const a = 1;\n" },
        proves:
          "pins in the request unless off; facts only with host-with-facts; the host's own prompt stays",
      },
      async (rig) => {
        const body = await summaryRequest(rig);
        expect(body).toContain("## Objective");
        expect(body.includes("Never touch the vendor folder.")).toBe(compaction !== "off");
        expect(body.includes("the build is green on Tuesdays")).toBe(compaction !== "off");
        expect(body.includes("<user_words>")).toBe(compaction === "host-with-facts");
        expect(body.includes("Files read: ")).toBe(compaction === "host-with-facts");
        expect(body).not.toMatch(/[:·] \/(?:path|type)\b/);
      },
    );
  }
});

const ROOMY = { inputTokens: 2_000, outputTokens: 10 };

/** Plays a conversation with a pin until the host asks for a summary, and gives that request. */
async function summaryRequest(rig: Rig): Promise<string> {
  const id = await rig.newSession();
  await rig.turn(id, { text: "Remember #pin the port is 4711.", model: SHORT_WINDOW }, [
    call("read", { filePath: `${rig.sandbox.project}/a.ts` }, { usage: ROOMY }),
    say("Noted.", { usage: ROOMY }),
  ]);
  await rig.turn(id, { text: "Go on.", model: SHORT_WINDOW }, [
    say("Full.", { usage: { inputTokens: 5_990, outputTokens: 10 } }),
    say("## Objective\n- Go on", { lane: "summary" }),
    say("Nothing is left.", { usage: ROOMY }),
  ]);
  const [summary] = rig.requests({ sessionId: id, lane: "summary" });
  return JSON.stringify(summary?.body);
}

function toolTexts(request: ModelRequest | undefined): readonly string[] {
  const messages = (request?.body.messages ?? []) as readonly { role: string; content: unknown }[];
  return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}
