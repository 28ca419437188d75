import type { ForkWay } from "../../../fork/context/choose-way.ts";
import { createInspection } from "../../view/inspection.ts";
import type { Inspection, WindowView } from "../../view/types.ts";
import type { Side } from "../state/band-layout.ts";
import {
  diffView,
  type EngineAsk,
  type EngineReply,
  patchSession,
  type Question,
  type QuestionOf,
  type SentRows,
  type SentWindows,
} from "./messages.ts";

/** Answers questions about one session with the engine itself, on whichever thread this is called. Never throws. */
export function createAnswerer(): Answerer {
  let inspection: Inspection | undefined;
  let last: LastWindows | undefined;

  function inspectionFor({ change }: EngineAsk): Inspection {
    if (change !== undefined) {
      const session = patchSession(inspection?.session, change);
      inspection = inspection?.extend(session) ?? createInspection(session);
    }
    if (inspection === undefined) throw new Error("Nothing was said of the session yet");
    return inspection;
  }

  function windowReplies(ask: EngineAsk, { a, b }: QuestionOf<"windows">): readonly EngineReply[] {
    const { policies, inspectWindow } = inspectionFor(ask);
    const isKnown = last !== undefined && ask.knownWindows === last.sequence;
    const known = isKnown ? last : undefined;
    const views = { a: inspectWindow(a), ...(b && { b: inspectWindow(b) }) };
    const { sequence } = ask;
    last = { sequence, ...views };
    const sentA = diffView(views.a, known?.a.rows ?? []);
    const sentB = views.b && diffView(views.b, known?.b?.rows ?? []);
    const rowsOf = (side: Side, sent: SentRows | undefined): readonly EngineReply[] =>
      (sent?.slices ?? []).map((rows) => ({ sequence, type: "rows", side, rows }));
    const answer: SentWindows = {
      policies,
      a: sentA.view,
      ...(sentB && { b: sentB.view }),
    };
    return [...rowsOf("a", sentA), ...rowsOf("b", sentB), { sequence, type: "windows", answer }];
  }

  function replyTo(ask: EngineAsk, question: Exclude<Question, QuestionOf<"windows">>): EngineReply {
    const { sequence } = ask;
    switch (question.type) {
      case "item":
        return {
          sequence,
          type: "item",
          answer: inspectionFor(ask).itemText(question.options, question.place),
        };
      case "child": {
        const { previewFork } = inspectionFor(ask);
        return { sequence, type: "child", answer: WAYS.map((way) => previewFork({ ...question, way })) };
      }
      case "compaction":
        return { sequence, type: "compaction", answer: inspectionFor(ask).previewCompaction(question) };
      case "search":
        return { sequence, type: "search", answer: inspectionFor(ask).search(question.query) };
      default:
        return question satisfies never;
    }
  }

  return (ask) => {
    try {
      const { question } = ask;
      return question.type === "windows" ? windowReplies(ask, question) : [replyTo(ask, question)];
    } catch (error) {
      return [{ sequence: ask.sequence, type: "failure", problem: String(error) }];
    }
  };
}

/** Gives one reply, and the rows of windows ahead of it. */
export type Answerer = (ask: EngineAsk) => readonly EngineReply[];

const WAYS: readonly ForkWay[] = ["exact", "graduated", "text"];

/** The windows that were sent last. */
interface LastWindows {
  readonly sequence: number;
  readonly a: WindowView;
  readonly b?: WindowView;
}
