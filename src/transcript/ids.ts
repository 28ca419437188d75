/** Unique within a transcript; formats make it so on decode. */
export type MessageId = string;

/** Joins a call and its result, as the source names it. */
export type CallId = string;

/** Names content that can be recalled: `<messageId>/<partIndex>`, a message id, or what a spill store returned. */
export type Handle = string;
