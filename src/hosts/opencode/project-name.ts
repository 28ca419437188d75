import { createHash } from "node:crypto";

/** What a project is called in the stores. Forks of different projects never meet: an instance of the host serves one. */
export function projectName(directory: string): string {
  return createHash("sha256").update(directory).digest("hex").slice(0, 16);
}
