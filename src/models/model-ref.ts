/** A model, as its provider and the name that it has there. */
export interface ModelRef {
  readonly provider: string;
  readonly id: string;
}
