import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CompactionPreview } from "../../view/types.ts";
import { Busy } from "../elements/busy.tsx";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import { count, percent, plural } from "../words/numbers.ts";
import { CacheTable, priceText } from "./cache-table.tsx";
import { LongText } from "./long-text.tsx";

/** What a compaction without a model would leave now, in full. */
export function CompactionPanel({ asked, upTo }: PreviewProps): VNode {
  const [keepTokens, setKeepTokens] = useState<number>();
  const { answer: preview, state } = useAnswer<"compaction">(asked, {
    type: "compaction",
    upTo,
    ...(keepTokens !== undefined && { keepTokens }),
  });
  const maxTokens = Math.max(2_000, Math.round(asked.session.windowTokens / 2));
  return (
    <>
      <h2>
        What a compaction would leave <Busy state={state} />
      </h2>
      <label class="row">
        <span class="label">Newest kept word for word</span>
        <input
          id="keep-tokens"
          type="range"
          min={0}
          max={maxTokens}
          step={500}
          value={keepTokens ?? DEFAULT_KEEP_TOKENS}
          aria-valuetext={keepTokens === undefined ? "the engine's choice" : `${count(keepTokens)} tokens`}
          onInput={({ currentTarget }) => setKeepTokens(currentTarget.valueAsNumber)}
        />
        <span class="unit">
          {keepTokens === undefined ? "engine's choice" : `${count(keepTokens)} tokens`}
        </span>
      </label>
      {preview?.status === "nothing" && <p>Nothing: {preview.reason}</p>}
      {preview?.status === "planned" && <Planned preview={preview} />}
    </>
  );
}

/** Where the slider stands until it is moved; until then the engine's default applies. */
const DEFAULT_KEEP_TOKENS = 8_000;

type PlannedPreview = Extract<CompactionPreview, { status: "planned" }>;

function Planned({ preview }: { readonly preview: PlannedPreview }): VNode {
  const { summary, text, replacedMessages, keptMessages, firstKeptIndex, request, cache } = preview;
  const { tokensBefore, tokensAfter, charsBefore, charsAfter } = preview;
  return (
    <>
      <p>
        {plural(replacedMessages, "message")} become one summary, {plural(keptMessages, "message")} stay
        {firstKeptIndex !== undefined && `, from message ${count(firstKeptIndex + 1)} on`}:{" "}
        <b>
          {count(tokensBefore)} → {count(tokensAfter)} tokens
        </b>{" "}
        ({percent(tokensBefore - tokensAfter, tokensBefore)} less), {count(charsBefore)} → {count(charsAfter)}{" "}
        chars.
      </p>
      <CacheTable caption={priceText(cache)} columns={[{ name: "compaction", cache }]} />
      <h3>
        The summary, made without a model <span class="amount">{count(summary.length)} chars</span>
      </h3>
      <LongText text={summary} label="The summary" />
      <details>
        <summary>All that the model would read then ({count(text.length)} chars)</summary>
        <LongText text={text} label="All that the model would read" />
      </details>
      <details>
        <summary>What a model would be asked ({count(request.tokens)} tokens)</summary>
        <LongText text={`${request.system}\n\n${request.prompt}`} label="What a model would be asked" />
      </details>
    </>
  );
}

export interface PreviewProps {
  readonly asked: AskedSession;
  readonly upTo: number;
}
