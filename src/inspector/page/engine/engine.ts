import { useEffect, useMemo, useState } from "preact/hooks";
import { TRUSTED_TYPES_POLICY } from "../../view/protocol.ts";
import type { InspectedSession, MessageRow } from "../../view/types.ts";
import type { Side } from "../state/band-layout.ts";
import {
  type Answers,
  createAnswerer,
  diffSession,
  type EngineAsk,
  type EngineReply,
  patchView,
  type QuestionOf,
  type QuestionType,
  type SentWindows,
  type Windows,
} from "./answer.ts";

/**
 * Gives the newest answer so far, and whether a newer one is being computed, so that typing and sliding never block.
 */
export function useAnswer<Type extends QuestionType>(
  { session, engine }: AskedSession,
  question: QuestionOf<Type>,
): Answer<Type> {
  const [answered, setAnswered] = useState<AnsweredQuestion<Type>>();
  const { type } = question;
  const asked = useMemo(() => question, [JSON.stringify(question)]);
  useEffect(() => engine.ask({ session, question: asked, onAnswer: setAnswered }), [engine, session, asked]);
  useEffect(() => () => engine.withdraw(type), [engine, type]);
  if (answered === undefined) return { state: "working" };
  if ("problem" in answered) throw new Error(answered.problem);
  const isNewest = answered.question === asked && answered.session === session;
  return { state: isNewest ? "done" : "working", answer: answered.answer, answered: answered.question };
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

/**
 * The engine as the page sees it. Of each type of question only the newest waits, and an answer is dropped once a
 * later question of its type was answered.
 */
export interface Engine {
  ask<Type extends QuestionType>(asked: AskedQuestion<Type>): void;
  /** Drops the waiting question and coming answers of this type. */
  withdraw(type: QuestionType): void;
}

/** A question, the newest state of the session, and who gets the answer. */
interface AskedQuestion<Type extends QuestionType = QuestionType> {
  readonly session: InspectedSession;
  readonly question: QuestionOf<Type>;
  readonly onAnswer: (answered: AnsweredQuestion<Type>) => void;
}

/** An answer with its question: a newer question may have been asked meanwhile. */
export type AnsweredQuestion<Type extends QuestionType = QuestionType> = {
  readonly session: InspectedSession;
  readonly question: QuestionOf<Type>;
} & ({ readonly answer: Answers[Type] } | { readonly problem: string });

/** Starts the engine in a worker. Without workers it runs on the page's own thread, with a warning in the console. */
export function startEngine(openWorker: () => Worker): Engine {
  return createEngine((queue) => {
    let runner: EngineRunner;
    const runWithoutWorker = (why: string): void => {
      console.warn(
        `Carryover computes on the page's own thread, which is slower to answer: no worker (${why}).`,
      );
      queue.requeue();
      runner = runOnPage(queue);
      runner.wake();
    };
    try {
      runner = runInWorker(queue, { worker: openWorker(), onFailure: runWithoutWorker });
    } catch (error) {
      runWithoutWorker(String(error));
    }
    return { wake: () => runner.wake() };
  });
}

/** Connects the page with a runner. The session is sent once, later only its changes. */
export function createEngine(connect: (queue: EngineQueue) => EngineRunner): Engine {
  // A map keeps insertion order, so no type of question starves while a slider moves.
  const waiting = new Map<QuestionType, WaitingQuestion>();
  const running = new Map<number, WaitingQuestion>();
  const listened = new Set<QuestionType>();
  const answeredSequences = new Map<QuestionType, number>();
  let sequence = 0;
  let newest: InspectedSession | undefined;
  let sent: InspectedSession | undefined;
  let held: { readonly sequence: number; readonly windows: Windows } | undefined;

  const runner = connect({
    next() {
      const [next] = waiting.values();
      if (next === undefined || newest === undefined) return undefined;
      const { question } = next.asked;
      waiting.delete(question.type);
      running.set(next.sequence, next);
      const ask: EngineAsk = {
        sequence: next.sequence,
        question,
        ...(newest !== sent && { change: diffSession(sent, newest) }),
        ...(held && { knownWindows: held.sequence }),
      };
      sent = newest;
      return ask;
    },
    reply(reply) {
      const done = running.get(reply.sequence);
      if (done === undefined) return;
      if (reply.type === "rows") {
        for (const row of reply.rows) done.rows[reply.side].push(row);
        return;
      }
      running.delete(reply.sequence);
      const { session, question, onAnswer } = done.asked;
      const { type } = question;
      if (!listened.has(type) || reply.sequence < (answeredSequences.get(type) ?? 0)) return;
      answeredSequences.set(type, reply.sequence);
      if (reply.type === "failure") {
        onAnswer({ session, question, problem: reply.problem });
        return;
      }
      const answer = reply.type === "windows" ? windowsOf(done, reply.answer) : reply.answer;
      onAnswer({ session, question, answer });
    },
    requeue() {
      sent = undefined;
      held = undefined;
      for (const lost of running.values()) {
        const { type } = lost.asked.question;
        if (listened.has(type) && !waiting.has(type)) waiting.set(type, { ...lost, rows: noRows() });
      }
      running.clear();
    },
  });

  function windowsOf({ sequence, rows }: WaitingQuestion, { a, b, ...rest }: SentWindows): Windows {
    // Rows are only left out when the runner's windows are the ones that were sent last.
    const known = held?.windows;
    const windows = {
      ...rest,
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
      // The type of a map cannot express that question and listener belong together.
      waiting.set(type, { sequence: ++sequence, asked: asked as unknown as AskedQuestion, rows: noRows() });
      runner.wake();
    },
    withdraw(type) {
      listened.delete(type);
      waiting.delete(type);
    },
  };
}

/** What a runner works on: it takes the next question when it is free, and gives the replies. */
export interface EngineQueue {
  next(): EngineAsk | undefined;
  reply(reply: EngineReply): void;
  /** Puts unanswered questions back in the queue and sends the session again: the runner is gone. */
  requeue(): void;
}

/** Port: runs the engine, on this thread or another. */
interface EngineRunner {
  /** Called when a question waits. */
  wake(): void;
}

interface WaitingQuestion {
  readonly sequence: number;
  readonly asked: AskedQuestion;
  /** Rows that came ahead of the answer. */
  readonly rows: Record<Side, MessageRow[]>;
}

const noRows = (): Record<Side, MessageRow[]> => ({ a: [], b: [] });

/** Runs the engine in a worker, one question at a time: a waiting question can still be replaced by a newer one. */
function runInWorker(
  queue: EngineQueue,
  { worker, onFailure }: { readonly worker: Worker; readonly onFailure: (why: string) => void },
): EngineRunner {
  let isBusy = false;
  const failed = new AbortController();
  const { signal } = failed;
  const wake = (): void => {
    if (isBusy) return;
    const ask = queue.next();
    if (ask === undefined) return;
    isBusy = true;
    worker.postMessage(ask);
  };
  const receive = ({ data }: MessageEvent): void => {
    const reply = data as EngineReply;
    queue.reply(reply);
    if (reply.type === "rows") return;
    isBusy = false;
    wake();
  };
  const fail = (event: ErrorEvent): void => {
    event.preventDefault();
    failed.abort();
    worker.terminate();
    onFailure(event.message || "the browser did not start it");
  };
  worker.addEventListener("message", receive, { signal });
  worker.addEventListener("error", fail, { signal });
  return { wake };
}

/** Runs the engine on the page's own thread; after a slow answer the next one waits until input pauses. */
function runOnPage(queue: EngineQueue): EngineRunner {
  const answer = createAnswerer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastMs = 0;
  const run = (): void => {
    timer = undefined;
    const ask = queue.next();
    if (ask === undefined) return;
    const startMs = performance.now();
    const replies = answer(ask);
    lastMs = performance.now() - startMs;
    for (const reply of replies) queue.reply(reply);
    timer ??= setTimeout(run, 0);
  };
  return {
    wake() {
      if (lastMs > SLOW_MS) clearTimeout(timer);
      else if (timer !== undefined) return;
      timer = setTimeout(run, lastMs > SLOW_MS ? DEBOUNCE_MS : 0);
    },
  };
}

const SLOW_MS = 40;
const DEBOUNCE_MS = 120;

/**
 * Opens a worker with the page's own script, by its URL or, in a single-file page, by its text. Throws when workers
 * are not available.
 */
export function openWorker(script: HTMLScriptElement): Worker {
  const url =
    script.src === ""
      ? URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }))
      : script.src;
  return new Worker(trustedScriptUrl(url), { name: "carryover engine" });
}

/** The page's content security policy allows this one Trusted Types policy, for this URL alone. */
function trustedScriptUrl(url: string): string {
  const { trustedTypes } = globalThis as unknown as TrustedScope;
  return (
    trustedTypes?.createPolicy(TRUSTED_TYPES_POLICY, { createScriptURL: () => url }).createScriptURL("") ??
    url
  );
}

/** Only some browsers have Trusted Types; the object that a policy gives is used as a string. */
interface TrustedScope {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { readonly createScriptURL: () => string },
    ): { createScriptURL(input: string): string };
  };
}
