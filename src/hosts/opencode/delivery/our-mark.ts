/** The metadata that marks text as ours, so that forks leave it out. */
export const OUR_MARK: Readonly<Record<string, unknown>> = { carryover: true };
