import { describe, expect, it } from "vitest";
import type { Message } from "../../../transcript/message.ts";
import { createInspection } from "../../view/inspection.ts";
import type { InspectedSession } from "../../view/types.ts";
import { createAnswerer, type EngineAsk, type Question } from "./answer.ts";
import { type AnsweredQuestion, createEngine, type Engine, type EngineQueue } from "./engine.ts";

const messageOf = (index: number): Message => ({
  id: `m${index}`,
  role: index % 2 === 0 ? "user" : "assistant",
  parts: [{ type: "text", text: `This is message ${index}. `.repeat(20 + index) }],
});

const sessionOf = (messages: number): InspectedSession => ({
  name: "made",
  format: "opencode",
  windowTokens: 200_000,
  windowKnown: true,
  transcript: Array.from({ length: messages }, (_, index) => messageOf(index)),
  redactedSecrets: 0,
  problems: [],
});

/** An engine whose work the test does by hand, as over there: nothing is shared but what is copied. */
function rigged(session: InspectedSession) {
  let work: EngineQueue | undefined;
  const engine: Engine = createEngine((given) => {
    work = given;
    return { wake: () => {} };
  });
  if (work === undefined) throw new Error("not connected");
  const { next, reply, requeue } = work;
  const told: AnsweredQuestion[] = [];
  const answer = createAnswerer();
  return {
    engine,
    requeue,
    told,
    ask: (question: Question, about = session): void =>
      engine.ask({ session: about, question, onAnswer: (news) => told.push(news) }),
    take: (): EngineAsk => {
      const ask = next();
      if (ask === undefined) throw new Error("nothing is asked");
      return structuredClone(ask);
    },
    isIdle: (): boolean => next() === undefined,
    answer: (ask: EngineAsk): void => {
      for (const each of answer(ask)) reply(structuredClone(each));
    },
  };
}

const windows = (budget: number): Question => ({ type: "windows", a: { policy: "last-n", budget } });
const search = (query: string): Question => ({ type: "search", query });

describe("the engine behind the page", () => {
  it("keeps of each kind of question only the newest, and lets the kinds take turns", () => {
    const { ask, take, isIdle } = rigged(sessionOf(4));
    ask(windows(1_000));
    ask(search("a"));
    ask(windows(2_000));
    ask(search("b"));
    expect(take().question).toEqual(windows(2_000));
    ask(windows(3_000));
    expect(take().question).toEqual(search("b"));
    expect(take().question).toEqual(windows(3_000));
    expect(isIdle()).toBe(true);
  });

  it("never lets a late answer to an older question replace a newer one", () => {
    const { ask, take, answer, told } = rigged(sessionOf(9));
    ask(windows(1_000));
    const older = take();
    ask(windows(4_000));
    const newer = take();
    answer(newer);
    answer(older);
    expect(told.map(({ question }) => question)).toEqual([windows(4_000)]);
  });

  it("tells an answer that was overtaken as long as there is none to what was asked since", () => {
    const { ask, take, answer, told } = rigged(sessionOf(9));
    ask(windows(1_000));
    const older = take();
    ask(windows(4_000));
    answer(older);
    answer(take());
    expect(told.map(({ question }) => question)).toEqual([windows(1_000), windows(4_000)]);
  });

  it("gives what the engine gives, and keeps the rows that did not change", () => {
    const session = sessionOf(40);
    const inspection = createInspection(session);
    const { ask, take, answer, told } = rigged(session);
    const otherBudget = (budget: number): number => 1_000 + budget / 10;
    const budgets = [9_000, 12_000, 2_000, 60_000, 9_500];
    for (const budget of budgets) {
      ask({
        type: "windows",
        a: { policy: "last-n", budget },
        b: { policy: "local-summary", budget: otherBudget(budget) },
      });
      answer(take());
    }
    const views = told.map((news) => ("answer" in news ? news.answer : undefined));
    expect(views).toEqual(
      budgets.map((budget) => ({
        policies: inspection.policies,
        budget: inspection.budget,
        a: inspection.inspectWindow({ policy: "last-n", budget }),
        b: inspection.inspectWindow({ policy: "local-summary", budget: otherBudget(budget) }),
      })),
    );
    const rows = views.map((view) => (view !== undefined && "a" in view ? view.a.rows : []));
    const same = rows[1]?.filter((row, index) => row === rows[0]?.[index]).length ?? 0;
    expect(same).toBeGreaterThan(30);
    expect(same).toBeLessThan(40);
  });

  it("is right after an answer that nobody was told", () => {
    const session = sessionOf(40);
    const { ask, take, answer, told } = rigged(session);
    ask(windows(60_000));
    const oldest = take();
    ask(windows(2_000));
    const older = take();
    ask(windows(9_000));
    answer(take());
    answer(oldest);
    answer(older);
    ask(windows(5_000));
    answer(take());
    const last = told.at(-1);
    expect(last).toMatchObject({
      answer: { a: createInspection(session).inspectWindow({ policy: "last-n", budget: 5_000 }) },
    });
    expect(told).toHaveLength(2);
  });

  it("sends the session once, and after that what has changed of it", () => {
    const session = sessionOf(30);
    const { ask, take, answer, told } = rigged(session);
    ask(search("message 3"));
    const first = take();
    expect(first.change?.changes).toHaveLength(30);
    answer(first);
    ask(search("message"));
    const second = take();
    expect(second.change).toBeUndefined();
    answer(second);
    const changed = messageOf(99);
    const transcript = [...session.transcript.slice(0, 5), changed, ...session.transcript.slice(6, 20)];
    ask(search("message 99"), { ...session, transcript });
    const third = take();
    expect(third.change).toMatchObject({ count: 20, changes: [{ index: 5, message: changed }] });
    answer(third);
    expect(told.at(-1)).toMatchObject({ answer: [{ index: 5 }] });
    ask(search("message 29"), { ...session, transcript });
    answer(take());
    expect(told.at(-1)).toMatchObject({ answer: [] });
  });

  it("asks again what was lost, with the whole session", () => {
    const { ask, take, requeue, answer, told, isIdle } = rigged(sessionOf(6));
    ask(windows(1_000));
    answer(take());
    ask(windows(2_000));
    ask(search("one"));
    take();
    take();
    ask(search("two"));
    requeue();
    const questions = [take(), take()];
    expect(isIdle()).toBe(true);
    expect(questions.map(({ question }) => question)).toEqual([search("two"), windows(2_000)]);
    expect(questions[0]?.change?.changes).toHaveLength(6);
    expect(questions.map(({ knownWindows }) => knownWindows)).toEqual([undefined, undefined]);
    for (const question of questions) answer(question);
    expect(told).toHaveLength(3);
  });

  it("tells nobody what was withdrawn", () => {
    const { engine, ask, take, answer, told, isIdle } = rigged(sessionOf(3));
    ask(search("a"));
    const asked = take();
    ask(search("b"));
    engine.withdraw("search");
    answer(asked);
    expect(isIdle()).toBe(true);
    expect(told).toEqual([]);
  });

  it("says a failure in words", () => {
    const { ask, take, answer, told } = rigged(sessionOf(3));
    ask(search("a"));
    const { change: _, ...headless } = take();
    answer(headless);
    expect(told).toMatchObject([{ problem: "Error: The session was not sent yet" }]);
  });
});
