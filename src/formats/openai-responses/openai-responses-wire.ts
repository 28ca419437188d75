/** An item of the input of OpenAI's Responses API. Types and fields that are not known are kept as they are. */
export interface ResponsesItem {
  readonly type?: string | undefined;
  readonly role?: string | undefined;
}

/** A request of that API; `instructions`, `store` and what it continues are looked at, everything else is kept. */
export interface ResponsesRequest {
  readonly input: string | readonly ResponsesItem[];
  readonly instructions?: unknown;
  readonly store?: unknown;
  readonly previous_response_id?: unknown;
  readonly conversation?: unknown;
}

/** What the Responses format reads: a list of input items, or a whole request. */
export type ResponsesWire = readonly ResponsesItem[] | ResponsesRequest;
