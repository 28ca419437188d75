import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { EvalPolicy } from "../../eval/eval-policy.ts";
import { BUILT_IN_POLICIES } from "../../eval/policies/built-in-policies.ts";
import { CliError } from "./cli-error.ts";

/** The policies with these names; a name with a slash or a script's ending is a module of the user's own. */
export async function loadEvalPolicies(names: readonly string[]): Promise<readonly EvalPolicy[]> {
  return Promise.all(names.map((name) => (isPolicyFile(name) ? importPolicy(name) : builtIn(name))));
}

/** True for a name that is a path to a module. */
export function isPolicyFile(name: string): boolean {
  return /[/\\]/.test(name) || /\.[cm]?js$/.test(name);
}

function builtIn(name: string): EvalPolicy {
  const policy = BUILT_IN_POLICIES.find((each) => each.name === name);
  if (policy !== undefined) return policy;
  const names = BUILT_IN_POLICIES.map((each) => each.name).join(", ");
  throw new CliError(`There is no policy ${name}`, [
    `Choose from ${names}, or give the path of a module.`,
    "`carryover eval --policy list` explains them.",
  ]);
}

async function importPolicy(path: string): Promise<EvalPolicy> {
  const name = basename(path, extname(path));
  let exported: unknown;
  try {
    exported = ((await import(pathToFileURL(resolve(path)).href)) as { readonly default?: unknown }).default;
  } catch (error) {
    throw new CliError(`Cannot load the policy ${path}: ${(error as Error).message}`, [], { cause: error });
  }
  if (typeof exported === "function")
    return { name, explain: `the function in ${path}`, run: exported as EvalPolicy["run"] };
  if (isPolicy(exported)) return exported;
  throw new CliError(`${path} exports no policy`, [
    "Write `export default (transcript, budgetChars) => text`, or export { name, explain, run } as default.",
  ]);
}

function isPolicy(value: unknown): value is EvalPolicy {
  if (typeof value !== "object" || value === null) return false;
  const { name, explain, run } = value as Partial<Record<keyof EvalPolicy, unknown>>;
  return typeof name === "string" && typeof explain === "string" && typeof run === "function";
}
