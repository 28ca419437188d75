/** A message of a chat completions API. Fields that are not known are kept as they are. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
}

/** A request of that API; everything but the messages is kept. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
}

/** What the chat format reads: a list of messages, or a whole request. */
export type ChatWire = readonly ChatMessage[] | ChatRequest;
