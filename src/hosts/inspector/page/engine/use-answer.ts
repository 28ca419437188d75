import { useEffect, useMemo, useState } from "preact/hooks";
import type { InspectedSession } from "../../view/types.ts";
import type { Engine, Told } from "./create-engine.ts";
import type { Answers, QuestionOf, QuestionType } from "./engine-messages.ts";

/** The newest answer that is there, and whether a newer one is on its way: typing and sliding never wait. */
export function useAnswer<Type extends QuestionType>(
  { session, engine }: AskedSession,
  question: QuestionOf<Type>,
): Answer<Type> {
  const [told, setTold] = useState<Told<Type>>();
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

export interface Answer<Type extends QuestionType> {
  readonly state: "working" | "done";
  /** Unset until the first answer. */
  readonly answer?: Answers[Type];
  /** The question that was answered. */
  readonly answered?: QuestionOf<Type>;
}
