/** Where a text comes from, which says how likely it is needed again. */
export type FillSource = "user" | "agent" | "call" | "change" | "input" | "read" | "search" | "output";
