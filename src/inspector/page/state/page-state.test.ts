import { describe, expect, it } from "vitest";
import { firstState, nextState, type PageAction, type PageState, windowOptions } from "./page-state.ts";

const stateAfter = (...actions: readonly PageAction[]): PageState => actions.reduce(nextState, firstState(9));

describe("the state of the page", () => {
  it("begins with what was really sent, all of it", () => {
    expect(windowOptions(stateAfter(), "a")).toEqual({ policy: "as-sent", upTo: 9 });
  });

  it("has one budget for all policies of a side, the model's window for a session until one is set", () => {
    const limits = {
      unit: "tokens",
      label: "the whole window",
      min: 1_000,
      max: 9_000,
      default: 5_000,
    } as const;
    const known = { shared: limits, windowTokens: 8_000 };
    const budgets = (...actions: readonly PageAction[]): readonly unknown[] =>
      (["a", "b"] as const).map((side) => windowOptions(stateAfter(...actions), side, known).budgetTokens);
    const session: PageAction = { type: "choose-policy", side: "a", policy: "session" };
    expect(budgets()).toEqual([5_000, 5_000]);
    expect(budgets(session)).toEqual([8_000, 5_000]);
    const set: PageAction = { type: "set-budget", side: "a", budgetTokens: 3_000 };
    expect(budgets(set, session)).toEqual([3_000, 5_000]);
    expect(budgets(set, { type: "choose-policy", side: "a", policy: "fill" })).toEqual([3_000, 5_000]);
  });

  it.each([
    { asked: 4, upTo: 4, follows: false },
    { asked: 0, upTo: 1, follows: false },
    { asked: 99, upTo: 9, follows: true },
  ])("scrubs to $upTo when $asked is asked for", ({ asked, upTo, follows }) => {
    expect(stateAfter({ type: "scrub", upTo: asked, messages: 9 })).toMatchObject({ upTo, follows });
  });

  it("follows what is new only while the end is shown", () => {
    expect(stateAfter({ type: "grow", messages: 12 }).upTo).toBe(12);
    expect(stateAfter({ type: "scrub", upTo: 4, messages: 9 }, { type: "grow", messages: 12 }).upTo).toBe(4);
  });

  it.each(["as-sent", "fixed", "fill"] as const)("compares %s with another policy", (policy) => {
    const chosen: PageAction = { type: "choose-policy", side: "a", policy };
    const { a, b, compare } = stateAfter(chosen, { type: "compare" });
    expect(compare).toBe("on");
    expect(b.policy).not.toBe(a.policy);
  });

  it("filters by each field, and no longer when the same is asked again", () => {
    const byTool: PageAction = { type: "filter", filter: { tool: "read" } };
    const state = stateAfter(byTool, { type: "filter", filter: { kind: "tool output" } });
    expect(state.list).toEqual({
      earlier: "folded",
      sort: "time",
      shape: "rows",
      filter: { tool: "read", kind: "tool output" },
    });
    expect(nextState(state, byTool).list.filter).toEqual({ kind: "tool output" });
    expect(nextState(state, { type: "filter", filter: { tool: "" } }).list.filter).toEqual({
      kind: "tool output",
    });
    expect(nextState(state, { type: "close" }).list.filter).toEqual({});
    expect(stateAfter({ type: "filter", filter: { fate: "cleared" } }).list.earlier).toBe("open");
    expect(stateAfter({ type: "open", key: "earlier" })).toMatchObject({
      tab: "fills",
      list: { earlier: "open" },
    });
  });

  it("closes one thing at a time", () => {
    const close: PageAction = { type: "close" };
    const open = stateAfter(
      { type: "search", query: "x" },
      { type: "open", key: "k" },
      { type: "help", help: "open" },
    );
    const first = nextState(open, close);
    expect(first).toMatchObject({ help: "closed", opened: "k", tab: "item", query: "x" });
    const second = nextState(first, close);
    expect(second).toMatchObject({ tab: "fills", query: "x" });
    expect(second.opened).toBeUndefined();
    expect(nextState(second, close).query).toBe("");
  });
});
