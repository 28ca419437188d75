import type { PolicyBudget, PolicyId, WindowOptions } from "../../view/types.ts";
import { EARLIER_KEY, type ListChoice, type ListFilter, type Side } from "./band-layout.ts";

/** The first state: the whole session as it was sent. */
export function firstState(messages: number): PageState {
  return {
    a: { policy: "as-sent" },
    b: { policy: "fixed" },
    compare: "off",
    upTo: messages,
    follows: true,
    tab: "fills",
    list: { earlier: "folded", sort: "time", shape: "rows", filter: {} },
    query: "",
    help: "closed",
  };
}

/** The state after an action. */
export function nextState(state: PageState, action: PageAction): PageState {
  switch (action.type) {
    case "choose-policy":
      return { ...state, [action.side]: { ...state[action.side], policy: action.policy } };
    case "set-budget":
      return { ...state, [action.side]: { ...state[action.side], budgetTokens: action.budgetTokens } };
    case "scrub":
      return {
        ...state,
        upTo: clampTo(action.upTo, action.messages),
        follows: action.upTo >= action.messages,
      };
    case "grow":
      return state.follows ? { ...state, upTo: action.messages } : state;
    case "compare":
      return { ...state, b: otherPolicy(state), compare: state.compare === "on" ? "off" : "on" };
    case "point":
      return { ...state, active: action.key };
    case "open":
      if (action.key === EARLIER_KEY) return { ...state, list: { ...state.list, earlier: "open" } };
      return { ...state, active: action.key, opened: action.key, tab: "item" };
    case "close":
      return close(state);
    case "show-tab":
      return { ...state, tab: action.tab };
    case "list":
      return { ...state, list: { ...state.list, ...action.list } };
    case "filter":
      return { ...state, list: filtered(state.list, action.filter) };
    case "search":
      return { ...state, query: action.query };
    case "help":
      return { ...state, help: action.help };
  }
}

/** The options of one side's window. The shared budget is known after the engine's first answer. */
export function windowOptions(
  state: PageState,
  side: Side,
  known?: Pick<BudgetDefaults, "shared" | "windowTokens">,
): WindowOptions {
  const { policy } = state[side];
  const budgetTokens = known && budgetOf(state[side], known);
  return { policy, upTo: state.upTo, ...(budgetTokens !== undefined && { budgetTokens }) };
}

/** The budget of a side. Policies share one; only a Carryover session defaults to the window of its model. */
export function budgetOf(
  { policy, budgetTokens }: PolicyChoice,
  { shared, windowTokens }: BudgetDefaults,
): number {
  return budgetTokens ?? (policy === "session" ? windowTokens : shared.default);
}

interface BudgetDefaults {
  readonly shared: PolicyBudget;
  readonly windowTokens: number;
}

export interface PageState {
  readonly a: PolicyChoice;
  readonly b: PolicyChoice;
  readonly compare: "on" | "off";
  /** How many messages from the start are shown. */
  readonly upTo: number;
  /** Whether the newest messages are shown as they arrive. */
  readonly follows: boolean;
  /** The band at which the keyboard is. */
  readonly active?: string;
  /** The band whose text the panel shows. */
  readonly opened?: string;
  readonly tab: PanelTab;
  readonly list: ListChoice;
  readonly query: string;
  readonly help: "open" | "closed";
}

/** A policy, and the budget if the user set one: tokens of the whole window, whatever the policy. */
export interface PolicyChoice {
  readonly policy: PolicyId;
  readonly budgetTokens?: number;
}

export type PanelTab = "fills" | "cost" | "lost" | "child" | "policies" | "item" | "live";

export type PageAction =
  | { readonly type: "choose-policy"; readonly side: Side; readonly policy: PolicyId }
  | { readonly type: "set-budget"; readonly side: Side; readonly budgetTokens: number }
  | { readonly type: "scrub"; readonly upTo: number; readonly messages: number }
  | { readonly type: "grow"; readonly messages: number }
  | { readonly type: "compare" }
  | { readonly type: "point"; readonly key: string }
  | { readonly type: "open"; readonly key: string }
  | { readonly type: "close" }
  | { readonly type: "show-tab"; readonly tab: PanelTab }
  | { readonly type: "list"; readonly list: Partial<ListChoice> }
  | { readonly type: "filter"; readonly filter: ListFilter }
  | { readonly type: "search"; readonly query: string }
  | { readonly type: "help"; readonly help: "open" | "closed" };

/** The policy of the second side when a comparison starts: never the same as the first. */
function otherPolicy({ a, b }: PageState): PolicyChoice {
  if (b.policy !== a.policy) return b;
  return { ...b, policy: a.policy === "as-sent" ? "fixed" : "as-sent" };
}

/** Toggles fields of the filter: a field that already has the value, or gets an empty one, is removed. */
function filtered(list: ListChoice, fields: ListFilter): ListChoice {
  const kept = Object.entries({ ...list.filter, ...fields }).filter(
    ([name, value]) => value !== "" && !(name in fields && list.filter[name as keyof ListFilter] === value),
  );
  // These filters often match messages before the window, so unfold those.
  const isAnywhere = [fields.fate, fields.reason, fields.messages, fields.handle].some(
    (field) => field !== undefined,
  );
  const earlier = isAnywhere ? "open" : list.earlier;
  return { ...list, earlier, filter: Object.fromEntries(kept) };
}

/** Escape closes one thing at a time. */
function close(state: PageState): PageState {
  if (state.help === "open") return { ...state, help: "closed" };
  if (state.opened !== undefined) {
    const { opened: _, ...rest } = state;
    return { ...rest, tab: state.tab === "item" ? "fills" : state.tab };
  }
  if (state.query !== "") return { ...state, query: "" };
  return { ...state, list: { ...state.list, filter: {} } };
}

function clampTo(value: number, messages: number): number {
  return Math.max(Math.min(1, messages), Math.min(messages, Math.round(value)));
}
