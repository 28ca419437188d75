import type { ComponentClass, VNode } from "preact";
import { KINDS } from "../../view/kinds.ts";
import type { InspectedSession, WindowView } from "../../view/types.ts";
import { memo } from "../elements/memo.tsx";
import type { ListChoice, ListFilter } from "../state/band-layout.ts";
import type { PageAction } from "../state/page-state.ts";
import { KIND_WORDS } from "../window/window-head.tsx";
import { inProject } from "../words/item-label.ts";

/** Order of the list and filters by kind, tool and file; filters set by a table can be removed here. */
export const ListTools: ComponentClass<ListToolsProps> = memo(function ListTools(props) {
  const { view, session, list, dispatch } = props;
  const { earlier, sort, shape, filter } = list;
  const select = (by: "kind" | "tool" | "file", options: readonly (readonly [string, string])[]): VNode => (
    <select
      id={`filter-${by}`}
      aria-label={`Only this ${by}`}
      value={filter[by] ?? ""}
      onChange={({ currentTarget }) => dispatch({ type: "filter", filter: { [by]: currentTarget.value } })}
    >
      <option value="">all {by}s</option>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <div class="list-tools">
      <select
        id="sort"
        aria-label="Order of the list"
        value={sort}
        onChange={({ currentTarget: { value } }) =>
          dispatch({ type: "list", list: { sort: value === "size" || value === "cost" ? value : "time" } })
        }
      >
        <option value="time">oldest first</option>
        <option value="size">largest first</option>
        <option value="cost">most expensive first</option>
      </select>
      <button
        type="button"
        aria-pressed={shape === "treemap"}
        onClick={() => dispatch({ type: "list", list: { shape: shape === "rows" ? "treemap" : "rows" } })}
      >
        Treemap
      </button>
      {select(
        "kind",
        KINDS.map((kind) => [kind, KIND_WORDS[kind]]),
      )}
      {select(
        "tool",
        view.byTool.map(({ name }) => [name, name]),
      )}
      {select(
        "file",
        view.byFile.slice(0, MAX_FILES).map(({ name }) => [name, inProject(name, session)]),
      )}
      {earlier === "open" && (
        <button type="button" onClick={() => dispatch({ type: "list", list: { earlier: "folded" } })}>
          Fold earlier
        </button>
      )}
      {isFiltered && (
        <button
          type="button"
          id="clear-filter"
          onClick={() => dispatch({ type: "list", list: { filter: {} } })}
        >
          {filterWords(filter)} ✕<span class="unseen"> show everything</span>
        </button>
      )}
    </div>
  );
});

const MAX_FILES = 200;

function filterWords({ fate, reason, messages, handle }: ListFilter): string {
  if (messages !== undefined) return "some messages";
  return fate ?? handle ?? (reason === undefined ? "filtered" : "not in the window for one reason");
}

interface ListToolsProps {
  readonly view: WindowView;
  readonly session: InspectedSession;
  readonly list: ListChoice;
  readonly dispatch: (action: PageAction) => void;
}
