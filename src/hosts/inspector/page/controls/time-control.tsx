import type { VNode } from "preact";
import type { Transcript } from "../../../../transcript/message.ts";
import { count, moment } from "../words/numbers.ts";

/** Scrubs through the session: what the window was when only so many messages had been said. */
export function TimeControl({ transcript, upTo, onScrub }: TimeControlProps): VNode {
  const messages = transcript.length;
  const atMs = transcript[upTo - 1]?.createdAt;
  const words = `message ${count(upTo)} of ${count(messages)}${atMs === undefined ? "" : `, ${moment(atMs)}`}`;
  return (
    <div class="control time">
      <label class="label" for="time">
        Time
      </label>
      <input
        id="time"
        type="range"
        min={Math.min(1, messages)}
        max={messages}
        step={1}
        value={upTo}
        disabled={messages < 2}
        aria-valuetext={words}
        onInput={({ currentTarget }) => onScrub(currentTarget.valueAsNumber)}
      />
      <output for="time">{words}</output>
    </div>
  );
}

interface TimeControlProps {
  readonly transcript: Transcript;
  readonly upTo: number;
  readonly onScrub: (upTo: number) => void;
}
