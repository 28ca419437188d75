/** A message as OpenCode stores and exports it. Fields that are not listed are kept as they are. */
export interface SessionMessage {
  readonly info: SessionMessageInfo;
  readonly parts: readonly SessionPart[];
}

export interface SessionMessageInfo {
  readonly id?: string;
  readonly role: string;
  readonly sessionID?: string;
  readonly parentID?: string;
  /** On an assistant message `true` marks a compaction summary; on a user message it is an object about diffs. */
  readonly summary?: unknown;
  readonly finish?: string;
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

/** A part of such a message; `type` says which fields it has. */
export interface SessionPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What `opencode export` writes. */
export interface SessionExport {
  readonly info: { readonly id?: string; readonly [field: string]: unknown };
  readonly messages: readonly SessionMessage[];
}

/** What the OpenCode format reads: a list of messages, or a whole export. */
export type OpenCodeWire = readonly SessionMessage[] | SessionExport;
