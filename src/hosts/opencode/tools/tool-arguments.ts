import { z } from "zod";

/** The arguments of a call as the tool wants them, or what is wrong with them as text for the model: the host checks nothing. */
export function readArguments<Shape extends z.ZodRawShape>(
  shape: Shape,
  given: unknown,
): ReadArguments<z.infer<z.ZodObject<Shape>>> {
  const parsed = z.strictObject(shape).safeParse(given ?? {});
  if (parsed.success) return { status: "read", value: parsed.data as z.infer<z.ZodObject<Shape>> };
  const problems = parsed.error.issues.map((issue) =>
    issue.path.length === 0 ? issue.message : `${issue.path.join(".")}: ${issue.message}`,
  );
  return {
    status: "wrong",
    text: `Nothing was done. ${problems.join("; ")}. Correct the arguments and call again.`,
  };
}

export type ReadArguments<Value> =
  | { readonly status: "read"; readonly value: Value }
  | { readonly status: "wrong"; readonly text: string };

/** How long a call may wait. */
export const WAIT_S: z.ZodOptional<z.ZodNumber> = z.number().min(0).max(600).optional();
