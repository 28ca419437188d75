import { useEffect, useMemo, useState } from "preact/hooks";
import type { InspectedSession, MessageRow } from "../../view/types.ts";
import type { Side } from "../state/band-layout.ts";
import {
  type Answers,
  diffSession,
  type EngineAsk,
  type EngineReply,
  patchView,
  type QuestionOf,
  type QuestionType,
  type SentWindows,
  type Windows,
} from "./messages.ts";

/** Connects the page with whoever runs the engine. The session is sent once, and after that what changes of it. */
export function createEngine(connect: (work: EngineWork) => EngineRunner): Engine {
  // A map keeps the order in which kinds began to wait, so none waits for ever behind a slider that moves.
  const waiting = new Map<QuestionType, Waiting>();
  const taken = new Map<number, Waiting>();
  const listened = new Set<QuestionType>();
  const toldSequences = new Map<QuestionType, number>();
  let sequence = 0;
  let newest: InspectedSession | undefined;
  let sent: InspectedSession | undefined;
  let held: { readonly sequence: number; readonly windows: Windows } | undefined;

  const runner = connect({
    take() {
      const [next] = waiting.values();
      if (next === undefined || newest === undefined) return undefined;
      const { question } = next.asked;
      waiting.delete(question.type);
      taken.set(next.sequence, next);
      const ask: EngineAsk = {
        sequence: next.sequence,
        question,
        ...(newest !== sent && { change: diffSession(sent, newest) }),
        ...(held && { knownWindows: held.sequence }),
      };
      sent = newest;
      return ask;
    },
    give(reply) {
      const done = taken.get(reply.sequence);
      if (done === undefined) return;
      if (reply.type === "rows") {
        for (const row of reply.rows) done.rows[reply.side].push(row);
        return;
      }
      taken.delete(reply.sequence);
      const { session, question, tell } = done.asked;
      const { type } = question;
      if (!listened.has(type) || reply.sequence < (toldSequences.get(type) ?? 0)) return;
      toldSequences.set(type, reply.sequence);
      if (reply.type === "failure") {
        tell({ session, question, problem: reply.problem });
        return;
      }
      const answer = reply.type === "windows" ? windowsOf(done, reply.answer) : reply.answer;
      tell({ session, question, answer });
    },
    lose() {
      sent = undefined;
      held = undefined;
      for (const lost of taken.values()) {
        const { type } = lost.asked.question;
        if (listened.has(type) && !waiting.has(type)) waiting.set(type, { ...lost, rows: noRows() });
      }
      taken.clear();
    },
  });

  function windowsOf({ sequence, rows }: Waiting, { policies, a, b }: SentWindows): Windows {
    // Whoever answers leaves rows out only if these windows are the ones that were sent last.
    const known = held?.windows;
    const windows = {
      policies,
      a: patchView(a, { changed: rows.a, known: known?.a.rows ?? [] }),
      ...(b && { b: patchView(b, { changed: rows.b, known: known?.b?.rows ?? [] }) }),
    };
    held = { sequence, windows };
    return windows;
  }

  return {
    ask(asked) {
      const { type } = asked.question;
      newest = asked.session;
      listened.add(type);
      // Kind, question and listener belong together, which the type of a map cannot say.
      waiting.set(type, { sequence: ++sequence, asked: asked as unknown as Asked, rows: noRows() });
      runner.wake();
    },
    withdraw(type) {
      listened.delete(type);
      waiting.delete(type);
    },
  };
}

/**
 * The engine as the page sees it. Of each kind of question only the newest waits, and an answer is told
 * only when none to a later question of its kind was.
 */
export interface Engine {
  ask<Type extends QuestionType>(asked: Asked<Type>): void;
  /** Nobody waits for an answer to this kind of question any more. */
  withdraw(type: QuestionType): void;
}

/** A question, the newest state of the session, and who wants to know. */
interface Asked<Type extends QuestionType = QuestionType> {
  readonly session: InspectedSession;
  readonly question: QuestionOf<Type>;
  readonly tell: (told: AnsweredQuestion<Type>) => void;
}

/** An answer with what was asked, since something newer may have been asked meanwhile. */
export type AnsweredQuestion<Type extends QuestionType = QuestionType> = {
  readonly session: InspectedSession;
  readonly question: QuestionOf<Type>;
} & ({ readonly answer: Answers[Type] } | { readonly problem: string });

/** What whoever runs the engine may do: take the next question when there is time for it, and give the answer. */
export interface EngineWork {
  take(): EngineAsk | undefined;
  give(reply: EngineReply): void;
  /** What was taken and not answered was lost together with everything that is known there of the session. */
  lose(): void;
}

/** Port: whoever runs the engine, on this thread or another. */
export interface EngineRunner {
  /** There is something to take. */
  wake(): void;
}

interface Waiting {
  readonly sequence: number;
  readonly asked: Asked;
  /** What came ahead of the answer. */
  readonly rows: Record<Side, MessageRow[]>;
}

const noRows = (): Record<Side, MessageRow[]> => ({ a: [], b: [] });

/** The newest answer that is there, and whether a newer one is on its way: typing and sliding never wait. */
export function useAnswer<Type extends QuestionType>(
  { session, engine }: AskedSession,
  question: QuestionOf<Type>,
): Answer<Type> {
  const [told, setTold] = useState<AnsweredQuestion<Type>>();
  const { type } = question;
  const asked = useMemo(() => question, [JSON.stringify(question)]);
  useEffect(() => engine.ask({ session, question: asked, tell: setTold }), [engine, session, asked]);
  useEffect(() => () => engine.withdraw(type), [engine, type]);
  if (told === undefined) return { state: "working" };
  if ("problem" in told) throw new Error(told.problem);
  const isNewest = told.question === asked && told.session === session;
  return { state: isNewest ? "done" : "working", answer: told.answer, answered: told.question };
}

/** A session and the engine that answers about it. */
export interface AskedSession {
  readonly session: InspectedSession;
  readonly engine: Engine;
}

interface Answer<Type extends QuestionType> {
  readonly state: "working" | "done";
  /** Unset until the first answer. */
  readonly answer?: Answers[Type];
  /** The question that was answered. */
  readonly answered?: QuestionOf<Type>;
}
