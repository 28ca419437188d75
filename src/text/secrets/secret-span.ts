/** A stretch of a text. */
export interface TextSpan {
  readonly startIndex: number;
  readonly endIndex: number;
}

/** Where a secret stands in a text and what kind it is. */
export interface SecretSpan extends TextSpan {
  readonly type: string;
}

/** Gives the text of a span. */
export function textOf(text: string, span: TextSpan): string {
  return text.slice(span.startIndex, span.endIndex);
}
