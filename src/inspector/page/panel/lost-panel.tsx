import type { VNode } from "preact";
import type { LostContent } from "../../view/types.ts";
import { Busy } from "../elements/busy.tsx";
import { ColumnHeads } from "../elements/column-heads.tsx";
import type { AskedSession } from "../engine/engine.ts";
import { messageRanges } from "../state/band-layout.ts";
import { inProject } from "../words/item-label.ts";
import { count, percent, plural } from "../words/numbers.ts";
import { CompactionPanel } from "./compaction-panel.tsx";
import type { CostPanelProps } from "./cost-panel.tsx";
import { LongText } from "./long-text.tsx";
import { Pick } from "./pick.tsx";

/** What the compactions of the session lost, and what another one would leave now. */
export function LostPanel({ asked, upTo, lost, ...rest }: LostPanelProps): VNode {
  return (
    <>
      <h2>
        What compactions lost <Busy state={lost === undefined ? "working" : "done"} />
      </h2>
      {lost?.length === 0 && <p>Nothing: this session was never compacted.</p>}
      {lost?.map((one, at) => (
        <Compaction
          key={one.index}
          number={at + 1}
          lost={one}
          fromIndex={lost[at - 1]?.index ?? 0}
          session={asked.session}
          {...rest}
        />
      ))}
      <CompactionPanel asked={asked} upTo={upTo} />
    </>
  );
}

interface LostPanelProps extends Omit<CostPanelProps, "session"> {
  readonly asked: AskedSession;
  /** Unset until it was computed. */
  readonly lost: readonly LostContent[] | undefined;
  readonly upTo: number;
}

function Compaction({ number, lost, fromIndex, session, onMoment, ...picks }: CompactionProps): VNode {
  const { index, tokensBefore, tokensAfter, summary, summarizedMessages, keptMessages } = lost;
  const { neededCount, keptCount, missing, readAgain } = lost;
  const lostCount = neededCount - keptCount;
  return (
    <section class="compacted">
      <h3>
        {number}. {tokensBefore === undefined ? "?" : count(tokensBefore)} →{" "}
        {tokensAfter === undefined ? "nothing was asked since" : `${count(tokensAfter)} tokens`}{" "}
        <button type="button" class="link" onClick={() => onMoment(index + 1)}>
          message {count(index + 1)}
        </button>
      </h3>
      <p>
        <Pick by="messages" value={messageRanges([[fromIndex, index - 1]])} {...picks}>
          {plural(summarizedMessages, "message")}
        </Pick>{" "}
        became a summary of {count(summary.length)} chars, {plural(keptMessages, "message")} stayed.{" "}
        {neededCount === 0 ? (
          "The next steps used nothing that only they had said."
        ) : (
          <>
            Of {plural(neededCount, "name")} and lines that the next 20 steps used, <b>{count(keptCount)}</b>{" "}
            ({percent(keptCount, neededCount)}) were still there, <b>{count(lostCount)}</b> were not.
          </>
        )}{" "}
        {readAgain.length > 0 && <b>{plural(readAgain.length, "file")} had to be read again.</b>}
      </p>
      {readAgain.length > 0 && (
        <table class="names">
          <ColumnHeads names={["read again", "message"]} />
          <tbody>
            {readAgain.slice(0, MAX_NAMES).map(({ path, index: at }) => (
              <tr key={path}>
                <th scope="row">
                  <Pick by="file" value={path} title={path} {...picks}>
                    {inProject(path, session)}
                  </Pick>
                </th>
                <td>
                  <button type="button" class="link" onClick={() => onMoment(at + 1)}>
                    {count(at + 1)}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {missing.length > 0 && (
        <details>
          <summary>Used next, and no longer there ({count(lostCount)})</summary>
          <ul class="missing">
            {missing.map(({ name, kind }) => (
              <li key={`${kind}/${name}`}>
                <button
                  type="button"
                  class="pick mono"
                  onClick={() => picks.dispatch({ type: "search", query: name.split("\n")[0] ?? name })}
                >
                  {name}
                </button>{" "}
                <span class="dim">{kind}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <details>
        <summary>Its summary ({count(summary.length)} chars)</summary>
        <LongText text={summary} label={`Summary of compaction ${number}`} />
      </details>
    </section>
  );
}

interface CompactionProps extends CostPanelProps {
  readonly number: number;
  /** Where the window before this compaction began. */
  readonly fromIndex: number;
  readonly lost: LostContent;
}

const MAX_NAMES = 50;
