import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import {
  type BrokenSession,
  brokenSessions,
  byHaiku,
  codexCompactions,
  FACTS,
  talk,
} from "../../../test/rig/agents/broken-sessions.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import { type Turn, writeClaudeCode, writeCodex } from "../../handoff/writers/session-files.ts";
import { outcomeText } from "../../transcript/content.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import { findFaults } from "../../transcript/format.ts";
import { messageText, type Transcript } from "../../transcript/message.ts";
import { rescue } from "./rescue.ts";
import type { Rescued, RescueFlags } from "./rescued.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-rescue-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const HEAD = { cwd: home, at: 1_700_000_000_000, title: "A session", newId: () => randomUUID() };
const LONG_CHARS = 900_000;

async function rescued(content: BrokenSession["content"], flags: RescueFlags = {}): Promise<Rescued> {
  const id = randomUUID();
  const path = join(home, `${id}.jsonl`);
  writeFileSync(path, content({ ...HEAD, id }));
  const before = digestOf(path);
  const found = await rescue({ path, name: path }, flags, { HOME: home, PATH: "" });
  expect(digestOf(path), "the original is untouched").toBe(before);
  return found;
}

const digestOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
const problemsOf = ({ diagnosis }: Rescued) => diagnosis.findings.map(({ problem }) => problem);
const lines = (values: readonly object[]): Buffer =>
  Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));

/** Claude Code's two lines of a compaction, with the fields that all lines of a file have. */
function compactionBy(line: object) {
  const plain = { ...line, uuid: randomUUID(), parentUuid: null, message: undefined };
  const message = { role: "user", content: "Summary: the disk of atlas-4 is full, and it is being freed." };
  const summary = { ...plain, type: "user", uuid: randomUUID(), parentUuid: plain.uuid };
  return [
    { ...plain, type: "system", subtype: "compact_boundary" },
    { ...summary, isCompactSummary: true, message },
  ] as const;
}

async function readBack({ delivered }: Rescued): Promise<Transcript> {
  return (await readTranscript(Buffer.from(delivered?.handed.content ?? ""))).transcript;
}

function everything(transcript: Transcript): string {
  return transcript
    .flatMap((message) => [
      messageText(message),
      ...message.parts.map((part) => (part.type === "tool" ? outcomeText(part.outcome) : "")),
    ])
    .join("\n");
}

const tokensOf = (transcript: Transcript): number =>
  estimateContextTokens(transcript, { estimator: "calibrated" }).tokens;

describe("a broken session", () => {
  // OpenCode has to be asked which version it is: `npm run test:hosts` does that.
  const broken = brokenSessions(LONG_CHARS).filter(({ agent }) => !agent.startsWith("opencode"));

  it.each(broken)("$name", async ({ content, problems, isHarmless }) => {
    const found = await rescued(content, isHarmless ? { force: true } : {});
    expect(problemsOf(found)).toEqual(expect.arrayContaining([...problems]));
    const transcript = await readBack(found);
    expect(findFaults(transcript)).toEqual([]);
    const text = everything(transcript);
    expect(Object.values(FACTS).filter((fact) => !text.includes(fact))).toEqual([]);
    expect(text).toMatch(
      /^\[Rescued by Carryover from session .* recall .*'<words to look for, or a handle>'\]/,
    );
    // Half of a window, in tokens of about three and a half characters.
    expect(found.delivered?.handed.content.length).toBeLessThan(600_000);
  });

  it("is summarized where even the shortest form of its messages does not fit", async () => {
    const talkative = talk("claude-code", 8_000).flatMap((turn) => [
      turn,
      ...(turn.role === "assistant" ? [] : Array.from({ length: 40 }, (_, index) => aside(index)).flat()),
    ]);
    const found = await rescued((head) => lines(writeClaudeCode(talkative, head)), { budget: 4_000 });
    expect(found.delivered?.handed.replaced).toBeGreaterThan(50);
    const text = everything(await readBack(found));
    expect(text).toContain("[Previous conversation summary]");
    expect(text).toContain(FACTS.first);
    expect(text).toContain(FACTS.last);
  });

  it("leaves the summary whole, with the whole task, in a small budget", async () => {
    const steps = Array.from(
      { length: 150 },
      (_, index) => `${index}. Mend src/part-${index}.ts, and run its tests.`,
    );
    const task = `Implement this plan:\n${steps.join("\n")}`;
    const working = [
      { role: "user" as const, blocks: [{ type: "text" as const, text: task }] },
      ...Array.from({ length: 200 }, (_, index) => aside(index)).flat(),
      ...talk("claude-code", 24_000).slice(1),
    ];
    const found = await rescued((head) => lines(writeClaudeCode(working, head)), { budget: 4_000 });
    const text = everything(await readBack(found));
    expect(found.delivered?.handed.replaced).toBeGreaterThan(50);
    expect(text).toContain("<carried_facts>");
    expect(text).toContain("<user_words>");
    expect(text).toContain(task);
  });

  it("keeps the calls of its own program as they are", async () => {
    const content: BrokenSession["content"] = (head) =>
      lines(
        writeClaudeCode(
          [
            { role: "user", blocks: [{ type: "text", text: "Search." }] },
            {
              role: "assistant",
              blocks: [{ type: "call", id: "c1", tool: "Grep", input: { pattern: "x" } }],
            },
            {
              role: "user",
              blocks: [{ type: "result", id: "c1", tool: "Grep", text: "a:1", isError: false }],
            },
          ],
          head,
        ),
      );
    const found = await rescued(content, { force: true });
    expect(found.delivered?.handed.content).toContain('"name":"Grep","input":{"pattern":"x"}');
  });
});

describe("a session that was refused as too long", () => {
  const CHARS = 200_000;
  const refusedWith =
    (text: string): BrokenSession["content"] =>
    (head) => {
      const written = writeClaudeCode(talk("claude-code", CHARS), head);
      const message = { role: "assistant", model: "<synthetic>", content: [{ type: "text", text }] };
      const uuid = randomUUID();
      return lines([...written, { ...written.at(-1), uuid, isApiErrorMessage: true, message }]);
    };

  // Some 70,000 tokens, of which a window of 200,000 would take all.
  it.each([
    ["Prompt is too long", 38_000],
    ['API Error: 400 {"error":{"message":"prompt is too long: 91000 tokens > 64000 maximum"}}', 32_000],
    ["input length and `max_tokens` exceed context limit: 60000 + 20000 > 64000", 32_000],
    ["This model's maximum context length is 32768 tokens. However, you requested 81000 tokens", 16_384],
    ["The input token count (90000) exceeds the maximum number of tokens allowed (48000).", 24_000],
    ["Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 80000.", 15_000],
    ["Your input exceeds the context window of this model.", 38_000],
    ["Codex ran out of room in the model's context window.", 38_000],
    // The provider counts three times as many tokens as we do.
    ["prompt is too long: 210000 tokens > 200000 maximum", 38_000],
  ])("believes the refusal: %s", async (text, mostTokens) => {
    const found = await rescued(refusedWith(text));
    expect(problemsOf(found)).toContain("refused");
    const tokens = tokensOf(await readBack(found));
    expect(tokens).toBeLessThan(mostTokens);
    expect(tokens).toBeGreaterThan(mostTokens * 0.3);
  });

  it("does not claim to know a limit that the refusal does not name", async () => {
    const { diagnosis } = await rescued(refusedWith("Prompt is too long"), { dryRun: true });
    const { text } = diagnosis.findings.find(({ problem }) => problem === "too-long") ?? {};
    expect(text).toContain("the limit is not known");
    expect(text).not.toContain("the window has");
  });

  it("has nothing wrong with it once it was compacted", async () => {
    const compacted: BrokenSession["content"] = (head) => {
      const [last = {}] = writeClaudeCode([{ role: "user", blocks: [] }], head);
      return Buffer.concat([refusedWith("Prompt is too long")(head), lines(compactionBy(last))]);
    };
    expect(await rescued(compacted)).toMatchObject({ status: "healthy" });
  });

  it("keeps the window that is named", async () => {
    const found = await rescued(refusedWith("Prompt is too long"), { window: 1_000_000 });
    expect(found.delivered?.handed).toMatchObject({ shortened: 0, replaced: 0 });
  });
});

describe("the size of what is rescued", () => {
  /** An answer as the provider counted it, with what it thought. */
  const counted = (values: readonly object[], inputTokens: number, reasoning = ""): readonly object[] =>
    values.map((value) => {
      const { message } = value as { message: { role: string; content: readonly object[] } };
      if (message.role !== "assistant") return value;
      const thought = reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: "s" }];
      const usage = { input_tokens: inputTokens, output_tokens: 10 };
      return { ...value, message: { ...message, content: [...thought, ...message.content], usage } };
    });

  it("is half of the window, also where the provider counted reasoning", async () => {
    const prose = Array.from({ length: 60 }, (_, index) => aside(index)).flat();
    const talkative = talk("claude-code", 40_000).flatMap((turn, index) =>
      index % 2 ? [turn] : [turn, ...prose],
    );
    const found = await rescued(
      (head) => lines(counted(writeClaudeCode(talkative, head), 150_000, "hm ".repeat(200))),
      { window: 20_000 },
    );
    const tokens = tokensOf(await readBack(found));
    expect(tokens).toBeGreaterThan(8_000);
    expect(tokens).toBeLessThan(11_000);
    // The first line and the summary say the same.
    const text = everything(await readBack(found));
    expect(found.delivered?.handed.replaced).toBeGreaterThan(10);
    expect(text).toContain(`${found.delivered?.handed.replaced} messages summed up`);
    expect(text).toContain(`stands for ${found.delivered?.handed.replaced} earlier messages`);
  });

  it("is not what was counted before a compaction, of messages that it kept behind its summary", async () => {
    const compacted: BrokenSession["content"] = (head) => {
      const [first, ...rest] = counted(writeClaudeCode(talk("claude-code", 40_000), head), 199_000);
      const [boundary, summary] = compactionBy({
        ...first,
        timestamp: new Date(head.at + 3_600_000).toISOString(),
      });
      const [kept = {}, ...behind] = rest;
      return lines([first ?? {}, boundary, summary, { ...kept, parentUuid: summary.uuid }, ...behind]);
    };
    const { status, diagnosis } = await rescued(compacted);
    expect(status).toBe("healthy");
    expect(diagnosis.tokens).toBeLessThan(40_000);
  });

  it("is that of the text where a later count cannot have seen it", async () => {
    const found = await rescued((head) =>
      lines(byHaiku(counted(writeClaudeCode(talk("claude-code", LONG_CHARS), head), 9_000))),
    );
    expect(problemsOf(found)).toContain("too-long");
    expect(found.diagnosis.tokens).toBeGreaterThan(200_000);
  });
});

describe("a compaction that says something", () => {
  const once: BrokenSession["content"] = (head) => lines([...codexCompactions(head, 1, 2_000)]);

  it("is no loss, and stands for what was before it", async () => {
    expect(await rescued(once)).toMatchObject({ status: "healthy" });
    expect(everything(await readBack(await rescued(once, { force: true })))).not.toContain("ERROR E7731");
  });

  it("is taken back when that is asked for", async () => {
    const found = await rescued(once, { beforeCompaction: true });
    expect(problemsOf(found)).toContain("lost-compaction");
    expect(everything(await readBack(found))).toContain("ERROR E7731");
    expect(found.delivered?.handed.notice).toContain("is back, as asked");
    expect(found.delivered?.handed.notice).not.toContain("could not go on");
  });
});

it("brings back what stood before a compaction that only the provider can read", async () => {
  const found = await rescued(
    (head) => {
      const before = writeCodex(talk("codex", 4_000), head);
      const history = [
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "Find out why deploys fail." }],
        },
        { type: "compaction", id: "cmp_1", encrypted_content: "gAAAAB" },
      ];
      const compacted = { type: "compacted", payload: { message: "", replacement_history: history } };
      return lines([...before, { timestamp: new Date(head.at).toISOString(), ...compacted }]);
    },
    { force: true },
  );
  expect(everything(await readBack(found))).toContain("ERROR E7731");
  expect(found.delivered?.handed.notice).toContain("brought back, since the summary");
});

it("brings back what stood before a compaction that holds only the user's words", async () => {
  const found = await rescued((head) => {
    const typed = (role: string, text: string) => ({
      type: "message",
      role,
      content: [{ type: "input_text", text }],
    });
    const history = [typed("user", "Find out why deploys fail."), typed("developer", "Be brief.")];
    const compacted = { type: "compacted", payload: { message: "", replacement_history: history } };
    const timestamp = new Date(head.at).toISOString();
    return lines([...writeCodex(talk("codex", 4_000), head), { timestamp, ...compacted }]);
  });
  expect(problemsOf(found)).toContain("lost-compaction");
  expect(everything(await readBack(found))).toContain("ERROR E7731");
});

it("carries the newest images, and names older ones", async () => {
  const image = (index: number) => Buffer.alloc(900, index + 1).toString("base64");
  const said = Array.from({ length: 22 }, (_, index): Turn[] => [
    { role: "user", blocks: [{ type: "image", mime: "image/png", base64: image(index) }] },
    { role: "assistant", blocks: [{ type: "text", text: `Picture ${index}.` }] },
  ]);
  const found = await rescued((head) => lines(writeClaudeCode(said.flat(), head)), { force: true });
  const content = found.delivered?.handed.content ?? "";
  expect([0, 1, 2, 21].map((index) => content.includes(image(index)))).toEqual([false, false, true, true]);
  expect(found.delivered?.handed).toMatchObject({ images: 20, files: 2 });
});

it("takes no text for an image, and no signature of a thought", async () => {
  const long = "QUJD".repeat(200);
  const said: Turn[] = [
    { role: "user", blocks: [{ type: "text", text: `${long} never restart the platypus service` }] },
    { role: "assistant", blocks: [{ type: "text", text: "I will not." }] },
    { role: "user", blocks: [{ type: "image", mime: "image/png", base64: long }] },
    { role: "assistant", blocks: [{ type: "text", text: "Seen." }] },
  ];
  const found = await rescued(
    (head) =>
      lines([
        ...writeClaudeCode(said, head).slice(0, -1),
        ...writeClaudeCode(said.slice(-1), head).map((line) => {
          const thoughts = Array.from({ length: 30 }, () => ({
            type: "thinking",
            thinking: "",
            signature: long,
          }));
          const message = { role: "assistant", content: [...thoughts, { type: "text", text: "Seen." }] };
          return { ...line, message };
        }),
      ]),
    { force: true },
  );
  expect(everything(await readBack(found))).toContain("platypus");
  expect(found.delivered?.handed).toMatchObject({ images: 1, files: 0 });
});

it("counts the lines of a doubled rollout once", async () => {
  const found = await rescued((head) => {
    const once = lines(writeCodex(talk("codex", 4_000), head));
    return Buffer.concat([once, once]);
  });
  expect(problemsOf(found)).toContain("repeated-line");
  expect(everything(await readBack(found)).split("ERROR E7731")).toHaveLength(2);
});

it("says that it goes on elsewhere where its folder is gone", async () => {
  const told = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  await rescued((head) => lines(writeCodex(talk("codex", 4_000), { ...head, cwd: join(home, "gone") })), {
    force: true,
  });
  expect(told.mock.calls.join()).toContain(`gone, is not there: it goes on in ${process.cwd()}`);
  told.mockRestore();
});

it("says that there is no compaction to take back", async () => {
  const plain: BrokenSession["content"] = (head) => lines(writeCodex(talk("codex", 4_000), head));
  await expect(rescued(plain, { beforeCompaction: true })).rejects.toThrow(
    "has no compaction that could be taken back",
  );
});

describe("a session that can go on", () => {
  it("has nothing wrong with it", async () => {
    const found = await rescued((head) => lines(writeCodex(talk("codex", 4_000), head)));
    expect(found).toMatchObject({ status: "healthy", delivered: undefined });
    expect(found.diagnosis.findings).toEqual([]);
  });

  it("may have a call that still runs, and a line that is being written", async () => {
    const found = await rescued((head) =>
      Buffer.concat([
        lines(writeClaudeCode(talk("claude-code", 4_000).slice(0, 2), head)),
        Buffer.from('{"type":"user"'),
      ]),
    );
    expect(found.status).toBe("healthy");
    expect(found.diagnosis.findings).toMatchObject([
      { problem: "damaged-line", severity: "note", line: 3 },
      { problem: "orphan-call", severity: "note", line: 2 },
    ]);
  });
});

const aside = (index: number) => [
  {
    role: "assistant" as const,
    blocks: [{ type: "text" as const, text: `Thought ${index}: ${"so ".repeat(20)}` }],
  },
  { role: "user" as const, blocks: [{ type: "text" as const, text: `And ${index}?` }] },
];
