import assert from "node:assert/strict";
import type { TestRunner } from "./test-runner.ts";

/** What Carryover does in a host that lets it do everything. */
export const HOST_SCENARIOS = [
  "trimming",
  "recall",
  "pruning",
  "compaction",
  "fork",
  "delivery",
  "restart",
] as const;
export type HostScenario = (typeof HOST_SCENARIOS)[number];

/** A host to be tested: a coding agent or a framework with Carryover in it, with default options. */
export interface HostUnderTest {
  readonly name: string;
  /** What cannot be done in it, and why. */
  readonly cannot?: Readonly<Partial<Record<HostScenario, string>>>;
  start(stage: HostStage): StagedHost | Promise<StagedHost>;
}

/** How a host is to be started for a scenario. */
export interface HostStage {
  /** What its tool `bash` prints for `cat <name>`. */
  readonly files: Readonly<Record<string, string>>;
  /** The window that its model is said to have. */
  readonly windowTokens: number;
}

/** One conversation in a host whose model follows a script. */
export interface StagedHost {
  /** A message of the user and the whole turn that it begins; gives the messages of each request to the model, as text. */
  turn(text: string, replies: readonly ScriptedReply[]): Promise<readonly string[]>;
  /** Has the conversation summed up, now or with the next turn. The model is said to answer `HOST_SUMMARY`. */
  compact(): Promise<void>;
  /** Ends the host and starts it again in the same conversation. */
  restart(): Promise<void>;
  /** What the next child answers. */
  childReply(text: string): void;
  /** The messages of each request of a child. */
  childRequests(): readonly string[];
  stop(): Promise<void>;
}

/** What the model answers next: words that end its turn, or a call of a tool. */
export type ScriptedReply = { readonly say: string } | { readonly call: string; readonly args: object };

/** What the scripted model answers when a host asks it for a summary. */
export const HOST_SUMMARY =
  "## Goal\nLook at the rows.\n## Progress\nThe rows were printed.\n## Next steps\nGo on.";

/**
 * Plays every scenario in a host, and gives what it can do, which is known once the tests have run. A scenario that the
 * host cannot do is a test whose name says why.
 */
export function hostContract({ describe, it }: TestRunner, host: HostUnderTest): HostResults {
  const results = new Map<HostScenario, HostResult>();
  describe(`Carryover in ${host.name}`, () => {
    for (const scenario of HOST_SCENARIOS) {
      const { title, files, play } = SCENARIOS[scenario];
      const why = host.cannot?.[scenario];
      if (why !== undefined) {
        results.set(scenario, { status: "cannot", why });
        it(`${scenario}: cannot, ${why}`, async () => {});
        continue;
      }
      it(`${scenario}: ${title}`, async () => {
        results.set(scenario, { status: "failed" });
        const staged = await host.start({ files, windowTokens: WINDOW_TOKENS });
        try {
          await play(staged);
          results.set(scenario, { status: "can" });
        } finally {
          await staged.stop();
        }
      });
    }
  });
  return results;
}

/** What came of each scenario that was played. */
export type HostResults = ReadonlyMap<HostScenario, HostResult>;

export type HostResult =
  | { readonly status: "can" | "failed" }
  | { readonly status: "cannot"; readonly why: string };

interface Scenario {
  /** What is shown, as a fact. */
  readonly title: string;
  readonly files: Readonly<Record<string, string>>;
  play(host: StagedHost): Promise<void>;
}

const WINDOW_TOKENS = 100_000;
/** More rows than an output may have, and short ones: some hosts show us 40,000 characters and take 10,000 back. */
const LONG_ROWS = 6_000;
const LONG = { "long.txt": Array.from({ length: LONG_ROWS }, (_, row) => digitsOf(row)).join("\n") };
/** Together they fill the window, and none is too long. */
const MANY = Object.fromEntries(
  Array.from({ length: 14 }, (_, file) => [`part${file}.txt`, rows(`part${file}`, 1_500)] as const),
);

const SCENARIOS: Readonly<Record<HostScenario, Scenario>> = {
  trimming: {
    title: "an output that is too long reaches the model with both ends and a gap",
    files: LONG,
    async play(host) {
      const sent = lastOf(await host.turn("Look.", [print("long.txt"), { say: "Seen." }]));
      for (const row of [0, LONG_ROWS - 2]) matches(sent, rowsFrom(row));
      lacks(sent, rowsFrom(ROW_IN_THE_MIDDLE));
    },
  },
  recall: {
    title: "what was cut is read again by its words",
    files: LONG,
    async play(host) {
      const replies = [print("long.txt"), SEARCH, { say: "Read." }];
      matches(lastOf(await host.turn("Look.", replies)), FOUND);
    },
  },
  pruning: {
    title: "old outputs leave a window that fills up, the newest stay, and what left can be recalled",
    files: MANY,
    async play(host) {
      const calls = Object.keys(MANY).map(print);
      const requests = await host.turn("Look.", [
        ...calls,
        { call: "recall", args: { search: "part0 540" } },
        { say: "Seen." },
      ]);
      const full = requests.at(-2) ?? "";
      has(full, rowOf("part13", 540));
      lacks(full, new RegExp(rowOf("part0", 540)));
      has(lastOf(requests), rowOf("part0", 540));
    },
  },
  compaction: {
    title: "a summary takes the place of the old part, and what the user pinned stays word for word",
    files: MANY,
    async play(host) {
      // More than an agent keeps word for word, and no full window for models that take more tokens for numbers.
      const calls = Object.keys(MANY).slice(0, 4).map(print);
      const before = lastOf(await host.turn(PINNED, [...calls, { say: "Seen." }]));
      await host.compact();
      const after = lastOf(await host.turn("Go on.", [{ say: "Going on." }]));
      has(after, PINNED);
      has(after, "The rows were printed.");
      assert.ok(after.length < before.length * 0.6, `${after.length} characters after ${before.length}`);
    },
  },
  fork: {
    title: "a child begins with the conversation of its parent",
    files: {},
    async play(host) {
      host.childReply("It is a fruit.");
      await host.turn("The word is tangerine.", [fork("What does the word mean?"), { say: "Asked." }]);
      await until(() => host.childRequests().length > 0, "a request of the child");
      const [child = ""] = host.childRequests();
      has(child, "The word is tangerine.");
      has(child, "What does the word mean?");
    },
  },
  delivery: {
    title: "the result of a child reaches its parent once",
    files: {},
    async play(host) {
      host.childReply("It is a fruit.");
      await host.turn("The word is tangerine.", [fork("What does the word mean?"), { say: "Asked." }]);
      await host.turn("And?", [{ say: "I see." }]);
      const sent = lastOf(await host.turn("Sure?", [{ say: "Yes." }]));
      assert.equal(sent.split("It is a fruit.").length - 1, 1, `the result in: ${excerpt(sent)}`);
    },
  },
  restart: {
    title: "what left the window stays out of it after a restart, and can be recalled",
    files: LONG,
    async play(host) {
      await host.turn("Look.", [print("long.txt"), { say: "Seen." }]);
      await host.restart();
      const [first = "", last = ""] = await host.turn("Again.", [SEARCH, { say: "Read." }]);
      matches(first, rowsFrom(LONG_ROWS - 2));
      lacks(first, rowsFrom(ROW_IN_THE_MIDDLE));
      matches(last, FOUND);
    },
  },
};

const ROW_IN_THE_MIDDLE = 3_000;
const SEARCH: ScriptedReply = { call: "recall", args: { search: digitsOf(ROW_IN_THE_MIDDLE) } };
/** A row as it is recalled, with its number. */
const FOUND = new RegExp(`${ROW_IN_THE_MIDDLE + 1}: ${digitsOf(ROW_IN_THE_MIDDLE)}\\b`);
const PINNED = "Never deploy from the branch blue-heron. #pin";

function rows(name: string, count: number): string {
  return Array.from({ length: count }, (_, row) => rowOf(name, row)).join("\n");
}

/** What is found in a row does not follow from what is searched for. */
function rowOf(name: string, row: number): string {
  return `${name} ${row} ${digitsOf(row)}`;
}

/** Four digits, another for each row. */
function digitsOf(row: number): string {
  return String(1_000 + ((row * 7_919) % 9_000));
}

/** Two rows behind each other, whatever a line break is written as. */
function rowsFrom(row: number): RegExp {
  return new RegExp(`${digitsOf(row)}[\\\\n\\s]{1,4}${digitsOf(row + 1)}`);
}

function print(file: string): ScriptedReply {
  return { call: "bash", args: { command: `cat ${file}` } };
}

/** Waits for the child, since some hosts end with the turn. */
function fork(prompt: string): ScriptedReply {
  return { call: "fork", args: { prompt, wait_s: 60 } };
}

function lastOf(requests: readonly string[]): string {
  return requests.at(-1) ?? "";
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  const endMs = Date.now() + LONG_ENOUGH_MS;
  while (!isSo()) {
    assert.ok(Date.now() < endMs, `${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const LONG_ENOUGH_MS = 20_000;

function has(text: string, wanted: string): void {
  assert.ok(text.includes(wanted), `"${wanted}" is not in: ${excerpt(text)}`);
}

function matches(text: string, wanted: RegExp): void {
  assert.ok(wanted.test(text), `${wanted} is not in: ${excerpt(text)}`);
}

function lacks(text: string, unwanted: RegExp): void {
  assert.ok(!unwanted.test(text), `${unwanted} is in: ${excerpt(text)}`);
}

function excerpt(text: string): string {
  return text.length <= 2_000 ? text : `${text.slice(0, 1_000)} … ${text.slice(-1_000)}`;
}
