import { join } from "node:path";

/** Where the examples are: ours, or those of a package that is installed beside another version of the AI SDK. */
export const EXAMPLES: string = process.env.CARRYOVER_EXAMPLES ?? join(import.meta.dirname, "../../examples");
