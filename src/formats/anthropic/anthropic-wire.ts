/** A message of Anthropic's Messages API. Blocks and fields that are not known are kept as they are. */
export interface AnthropicMessage {
  readonly role: string;
  readonly content: unknown;
}

/** A request of that API; `system`, `tools` and `thinking` are looked at, everything else is kept. */
export interface AnthropicRequest {
  readonly messages: readonly AnthropicMessage[];
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly thinking?: unknown;
}

/** What the Anthropic format reads: a list of messages, or a whole request. */
export type AnthropicWire = readonly AnthropicMessage[] | AnthropicRequest;
