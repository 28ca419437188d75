import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { deepFreeze } from "../../test/rig/notation.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import { createPersistJournal } from "./persist.ts";
import type { Session } from "./session.ts";

const output = (seed: number, lines: number): string =>
  Array.from(
    { length: lines },
    (_, line) => `src/f${seed}.ts:${line}: value ${(seed * 7919 + line) % 997}`,
  ).join("\n");

const request: Message = { id: "u", role: "user", parts: [{ type: "text", text: "Read every file." }] };
const step = (number: number): Message => ({
  id: `s${number}`,
  role: "assistant",
  finish: "tool-calls",
  parts: [
    { type: "text", text: `Step ${number}.` },
    {
      type: "tool",
      callId: `c${number}`,
      tool: "read",
      input: { path: `src/f${number}.ts` },
      // Every seventh is too long and gets trimmed.
      outcome: { status: "done", output: output(number, number % 7 === 0 ? 900 : 60), attachments: [] },
    },
  ],
});
/** All of them with `npm run test:all`. */
const STEPS = process.env.CARRYOVER_LONG === undefined ? 110 : 150;
const messages: Transcript = deepFreeze([
  request,
  ...Array.from({ length: STEPS }, (_, index) => step(index)),
]);

type Way = NonNullable<EngineOptions["backgroundCompaction"]>;

/** Where the rows are kept: by code from outside, or in a journal that keeps all of them. */
type Kept = "persist" | "journal";

/** A process: a session on the rows that are there. */
function open(rows: unknown[], { way, kept }: Place, onAppend: (session: Session) => void = () => {}) {
  const clock = createFakeClock();
  const keep = (row: unknown): void => {
    onAppend(session);
    rows.push(structuredClone(row));
  };
  const journal: Journal =
    kept === "persist"
      ? createPersistJournal({ load: () => structuredClone(rows), append: keep }, { clock })
      : {
          append: async (row) => {
            keep(row);
            return { status: "appended", sequence: rows.length };
          },
          read: async () => ({
            entries: structuredClone(rows).map((value, sequence) => ({ sequence, writer: "w", value })),
            problems: [],
          }),
        };
  // The same request gets the same summary, in whichever process.
  const summarize = async ({ prompt }: { readonly prompt: string }) =>
    `## Goal\nRead on after ${prompt.length}.`;
  const session: Session = createSession(
    { clock, journal, summarizer: { summarize } },
    {
      limits: { contextTokens: 12_000, outputTokens: 1_000 },
      backgroundCompaction: way,
      onEvent(event) {
        if (event.type === "warning" && event.code.startsWith("not-")) expect.fail(event.message);
      },
    },
  );
  return session;
}

const bytes = (session: Session): string =>
  JSON.stringify(session.messages(), (key, value: unknown) => (key === "createdAt" ? undefined : value));

interface Place {
  readonly way: Way;
  readonly kept: Kept;
}

interface Boundary {
  /** How many rows there are. */
  readonly rows: number;
  readonly known: number;
  readonly before: string;
  readonly after: string;
}

/** Runs to the end, and notes at each write what the model would be shown without and with it. */
async function uninterrupted(place: Place) {
  const rows: { readonly type: string }[] = [];
  const boundaries: Boundary[] = [];
  const sent: string[] = [];
  let before = "";
  let known = 0;
  const session = open(rows, place, (writing) => {
    const after = bytes(writing);
    boundaries.push({ rows: rows.length, known, before, after });
    before = after;
  });
  await session.restore([]);
  for (known = 1; known <= messages.length; known++) {
    session.observe(messages.slice(0, known));
    before = bytes(session);
    await session.prepare({ moment: "after-turn" });
    sent.push(bytes(session));
  }
  return { rows, boundaries, sent };
}

describe("a process that ends at any write", () => {
  // When a compaction is begun early depends on what the process has seen; otherwise the next one does the same.
  it.each<Place>([
    { way: "on", kept: "persist" },
    { way: "off", kept: "persist" },
    { way: "off", kept: "journal" },
  ])(
    "is followed by one that shows the model the same, and goes on as if nothing had happened: begun early $way, $kept",
    async (place) => {
      const { rows, boundaries, sent } = await uninterrupted(place);
      expect(boundaries.length).toBeGreaterThan(STEPS / 5);
      expect(rows.map(({ type }) => type)).toContain("snapshot");
      for (const [index, { rows: count, known, before, after }] of boundaries.entries()) {
        const kept = rows.slice(0, count);
        const row = rows[count];
        const torn = JSON.stringify(row).slice(0, 40 + ((index * 37) % 400));
        const ends: readonly (readonly [string, unknown[], string])[] = [
          ["before", kept, before],
          ["in the middle of", [...kept, torn], before],
          ["after", [...kept, row], after],
          ["twice", [...kept, row, row], after],
        ];
        for (const [when, left, shown] of ends) {
          const session = open([...left], place);
          await session.restore(messages.slice(0, known));
          expect(bytes(session), `${when} ${index}`).toBe(shown);
          await session.prepare({ moment: "after-turn" });
          if (place.way === "off") expect(bytes(session), `${when} ${index}, prepared`).toBe(sent[known - 1]);
        }
      }
    },
  );

  it("needs no row that stands before a snapshot", async () => {
    const { rows, sent } = await uninterrupted({ way: "on", kept: "persist" });
    const newest = rows.findLastIndex(({ type }) => type === "snapshot");
    const session = open(rows.slice(newest), { way: "on", kept: "persist" });
    expect(await session.restore(messages)).toMatchObject({ dropped: 0, unreadable: 0 });
    expect(bytes(session)).toBe(sent.at(-1));
    expect(await session.recall("s3/1")).toMatchObject({ status: "found", text: output(3, 60) });
  });
});
