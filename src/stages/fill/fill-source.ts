/** Where a text comes from, which says how likely it is needed again. What an edit took out is `removed`. */
export type FillSource =
  | "user"
  | "agent"
  | "call"
  | "change"
  | "removed"
  | "input"
  | "read"
  | "search"
  | "output";
