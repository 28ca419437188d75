import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Message } from "../../../transcript/message.ts";
import { DATA_BLOCK_ID, type LiveEvent, type ServedSession } from "../../view/protocol.ts";
import type { InspectedSession, PolicyBudget, PolicyId, WindowOptions } from "../../view/types.ts";
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

/** The options of one side's window. The budget that the policies share is known once the engine has answered. */
export function windowOptions(
  state: PageState,
  side: Side,
  known?: Pick<BudgetDefaults, "shared" | "windowTokens">,
): WindowOptions {
  const { policy } = state[side];
  const budgetTokens = known && budgetOf(state[side], known);
  return { policy, upTo: state.upTo, ...(budgetTokens !== undefined && { budgetTokens }) };
}

/** The budget of a side: one for all policies. Only a session fills the window of its model until the user sets another. */
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

/** The second side as a comparison begins: never the same as the first, which would show nothing. */
function otherPolicy({ a, b }: PageState): PolicyChoice {
  if (b.policy !== a.policy) return b;
  return { ...b, policy: a.policy === "as-sent" ? "fixed" : "as-sent" };
}

/** The list with these fields of its filter set; a field that is set to what it was, or to nothing, is taken out. */
function filtered(list: ListChoice, fields: ListFilter): ListChoice {
  const kept = Object.entries({ ...list.filter, ...fields }).filter(
    ([name, value]) => value !== "" && !(name in fields && list.filter[name as keyof ListFilter] === value),
  );
  // What became of something is mostly asked of what is before the window; what a table names may be anywhere.
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

/** How many steps a budget's slider has. */
export const BUDGET_STEPS = 120;

/** The step nearest to a budget, on a logarithmic scale. */
export function stepOfBudget(value: number, { min, max }: Limits): number {
  const low = Math.max(1, min);
  if (max <= low) return 0;
  const share = Math.log(Math.min(max, Math.max(low, value)) / low) / Math.log(max / low);
  return Math.round(BUDGET_STEPS * share);
}

/** The budget at a step, rounded to two digits except at the ends. */
export function budgetOfStep(step: number, { min, max }: Limits): number {
  if (step <= 0) return min;
  if (step >= BUDGET_STEPS) return max;
  const low = Math.max(1, min);
  const exact = low * (max / low) ** (step / BUDGET_STEPS);
  const grain = 10 ** Math.max(0, Math.floor(Math.log10(exact)) - 1);
  return Math.min(max, Math.max(min, Math.round(exact / grain) * grain));
}

/** A budget as people type it, such as `43210`, `200k` or `1.5 M`, within its limits; undefined for any other text. */
export function parseBudget(typed: string, { min, max }: Limits): number | undefined {
  const [, digits = "", unit = ""] = /^\s*([\d.,_]+)\s*([km]?)\s*$/i.exec(typed) ?? [];
  const value = Number(digits.replace(/[,_]/g, "") || Number.NaN) * (UNITS[unit.toLowerCase()] ?? 1);
  return Number.isFinite(value) ? Math.min(max, Math.max(min, Math.round(value))) : undefined;
}

const UNITS: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

type Limits = Pick<PolicyBudget, "min" | "max">;

/** Loads the session: from the data block of a single-file page, or from the server that served the page. */
export async function loadSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const block = document.getElementById(DATA_BLOCK_ID);
  return block === null ? fetchSession(onProgress) : (JSON.parse(block.textContent ?? "") as LoadedSession);
}

export interface LoadedSession {
  readonly session: InspectedSession;
  /** Set when the session is followed while it runs. */
  readonly follow?: FollowSession;
}

/** How much of the session was loaded. */
export interface LoadProgress {
  readonly doneMessages: number;
  readonly totalMessages: number;
}

/** Fetches the session in pages. The address holds a one-time token, which is removed from it at once; loaded again, the tab still has the one it was given. */
async function fetchSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const headers = { authorization: `Bearer ${await exchangeToken()}` };
  const get = async <Answer>(path: string): Promise<Answer> => {
    const response = await fetch(path, { headers });
    if (response.status === 401) sessionStorage.removeItem(TOKEN_ITEM);
    if (response.status === 401) throw new Error(`The server of this address is another by now. ${AGAIN}`);
    if (!response.ok) throw new Error(`The server answered ${response.status} to ${path}.`);
    return (await response.json()) as Answer;
  };
  const { messages: totalMessages, live, ...head } = await get<ServedSession>("/api/session");
  const transcript: Message[] = [];
  while (transcript.length < totalMessages) {
    onProgress({ doneMessages: transcript.length, totalMessages });
    const path = `/api/messages?from=${transcript.length}&count=${PAGE_MESSAGES}`;
    const { messages } = await get<{ readonly messages: readonly Message[] }>(path);
    if (messages.length === 0) break;
    for (const message of messages) transcript.push(message);
  }
  const session = { ...head, transcript };
  return live === undefined ? { session } : { session, follow: followEvents(headers, live.revision) };
}

const PAGE_MESSAGES = 200;

async function exchangeToken(): Promise<string> {
  const oneTimeToken = new URLSearchParams(location.hash.slice(1)).get("t");
  if (oneTimeToken === null) {
    const kept = sessionStorage.getItem(TOKEN_ITEM);
    if (kept === null) throw new Error(`This address has no token. ${AGAIN}`);
    return kept;
  }
  history.replaceState(null, "", location.pathname);
  const response = await fetch("/api/token", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: oneTimeToken }),
  });
  if (!response.ok) throw new Error(`This address was used before, or its server is gone. ${AGAIN}`);
  const { token } = (await response.json()) as { readonly token: string };
  sessionStorage.setItem(TOKEN_ITEM, token);
  return token;
}

/** Kept for this tab, so that it can be loaded again; good for nothing once the server has ended. */
const TOKEN_ITEM = "carryover-token";

const AGAIN =
  "Every address works once. Press Enter in the terminal for another, or run carryover inspect --open again.";

/** Starts to follow the session; the returned function ends it. */
export type FollowSession = (
  onEvent: (event: LiveEvent) => void,
  onState: (state: FollowState) => void,
) => () => void;

export type FollowState = "connected" | "reconnecting" | "ended";

/** Follows the server's events over `fetch`, since an EventSource cannot send the token. */
function followEvents(headers: Readonly<Record<string, string>>, firstRevision: number): FollowSession {
  return (onEvent, onState) => {
    const abort = new AbortController();
    let revision = firstRevision;
    const listen = async (): Promise<void> => {
      for (let failures = 0; failures < MAX_FAILURES && !abort.signal.aborted; failures++) {
        try {
          const response = await fetch(`/api/events?revision=${revision}`, { headers, signal: abort.signal });
          if (!response.ok || response.body === null) break;
          onState("connected");
          for await (const event of eventsOf(response.body)) {
            failures = 0;
            if (event.type === "messages") revision = event.revision;
            onEvent(event);
          }
        } catch {
          // A lost connection is retried below.
        }
        if (abort.signal.aborted) return;
        onState("reconnecting");
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
      if (!abort.signal.aborted) onState("ended");
    };
    void listen();
    return () => abort.abort();
  };
}

const MAX_FAILURES = 5;
const RETRY_MS = 1_000;

/** The events of a server-sent stream. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<LiveEvent> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    yield JSON.parse(read.value.data) as LiveEvent;
}
