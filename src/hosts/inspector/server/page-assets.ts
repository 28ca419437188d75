import { readFile } from "node:fs/promises";

/** The page's program and its style, as they were built. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** Reads what the build made of the page: beside the command line, or in the project when this runs from source. */
export async function readPageAssets(places: readonly URL[] = PLACES): Promise<PageAssets> {
  for (const place of places) {
    try {
      const [script, style] = await Promise.all(
        ["app.js", "app.css"].map((name) => readFile(new URL(name, place), "utf8")),
      );
      if (script !== undefined && style !== undefined) return { script, style };
    } catch {
      // Not built there.
    }
  }
  throw new Error("The page is not there: it was not built (`npm run build` makes dist/inspector)");
}

/** Never outside the package: what is found there is run. */
const PLACES: readonly URL[] = (
  import.meta.url.endsWith("/page-assets.ts")
    ? ["../../../../dist/inspector/"]
    : ["./inspector/", "../dist/inspector/"]
).map((place) => new URL(place, import.meta.url));
