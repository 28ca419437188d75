import type { VNode } from "preact";
import type { Transcript } from "../../../../transcript/message.ts";
import type { PolicyInfo, WindowView } from "../../view/types.ts";
import type { PageAction, PageState } from "../state/page-state.ts";
import type { Side } from "../strata/lay-bands.ts";
import { count, signed } from "../words/numbers.ts";
import { PolicyControl } from "./policy-control.tsx";
import { TimeControl } from "./time-control.tsx";

/** What can be asked: which policy, with which budget, at which time, against which other. */
export function Controls(props: ControlsProps): VNode {
  const { state, dispatch, transcript, policies, viewA, viewB } = props;
  const isCompared = state.compare === "on";
  const control = (side: Side, name: string): VNode => (
    <PolicyControl
      side={side}
      name={name}
      choice={state[side]}
      policies={policies}
      onPolicy={(policy) => dispatch({ type: "choose-policy", side, policy })}
      onBudget={(budget) => dispatch({ type: "set-budget", side, budget })}
    />
  );
  return (
    <section class="controls" aria-label="Controls">
      <div class="line-of">
        {control("a", isCompared ? "A" : "Policy")}
        <TimeControl
          transcript={transcript}
          upTo={state.upTo}
          onScrub={(upTo) => dispatch({ type: "scrub", upTo, messages: transcript.length })}
        />
        <button type="button" aria-pressed={isCompared} onClick={() => dispatch({ type: "compare" })}>
          Compare
        </button>
      </div>
      {isCompared && (
        <div class="line-of">
          {control("b", "B")}
          {viewB && (
            <p class="difference" aria-live="polite">
              A sends <b>{count(viewA.tokensAfter)}</b> tokens, B <b>{count(viewB.tokensAfter)}</b>: B − A ={" "}
              <b id="difference">{signed(viewB.tokensAfter - viewA.tokensAfter)}</b>
            </p>
          )}
        </div>
      )}
    </section>
  );
}

interface ControlsProps {
  readonly state: PageState;
  readonly dispatch: (action: PageAction) => void;
  readonly transcript: Transcript;
  readonly policies: readonly PolicyInfo[];
  readonly viewA: WindowView;
  readonly viewB: WindowView | undefined;
}
