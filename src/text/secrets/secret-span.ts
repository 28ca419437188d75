/** Where a secret stands in a text and what kind it is. */
export interface SecretSpan {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly type: string;
}
