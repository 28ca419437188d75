import { type Context, createContext } from "preact";
import { useContext } from "preact/hooks";
import { count } from "./numbers.ts";

/** Factor for estimates, so that all numbers on the page add up to the size in its head. */
export const TokenScale: Context<number> = createContext(1);

/** Shows estimated tokens as the head of the page counts them. */
export function useTokens(): (estimated: number) => string {
  const scale = useContext(TokenScale);
  return (estimated) => count(estimated * scale);
}
